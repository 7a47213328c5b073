// Finds the text that is nearest in meaning to a query, by a static model of 57 KB in flash. It takes 4.4 KB of RAM, and
// some 9 KB of stack while it is opened.

#include <nanoembed.h>

#include "model.h"

static const char *const texts[] = {
    "The weather is lovely today.",
    "He drove to the stadium.",
    "The battery is almost empty.",
    "Click on the link to choose a new password.",
    "The pump has stopped.",
    "A door was left open.",
};
const size_t COUNT = sizeof texts / sizeof *texts, DIMENSIONS = 48;

static uint8_t arena[3072] __attribute__((aligned(NANOEMBED_ALIGN)));
static float vectors[COUNT + 1][DIMENSIONS];

static nanoembed_status search(const char *query, nanoembed_scored *best) {
  nanoembed_source source = {};
  nanoembed_model_options options = {};
  nanoembed_plan plan = {};
  nanoembed_error error = {};
  nanoembed_model *model;
  nanoembed_workspace *workspace;
  size_t found;
  source.size = sizeof source;
  options.size = sizeof options;
  plan.size = sizeof plan;
  error.size = sizeof error;
  options.vocabulary = NANOEMBED_VOCABULARY_IN_FILE;

  nanoembed_status status = nanoembed_source_from_buffer(model_data, sizeof model_data, &source);
  if (!status) status = nanoembed_plan_model(&source, &options, arena, sizeof arena, &plan, &error);
  if (status) return status;
  // The model, and behind it the workspace, where reading has its scratch before.
  uint8_t *rest = arena + (plan.model_bytes + NANOEMBED_ALIGN - 1) / NANOEMBED_ALIGN * NANOEMBED_ALIGN;
  size_t rest_bytes = arena + sizeof arena - rest;
  status = nanoembed_model_init(&source, &options, arena, plan.model_bytes, rest, rest_bytes, &model, &error);
  if (!status) status = nanoembed_workspace_init(model, rest, rest_bytes, &workspace);
  for (size_t i = 0; i <= COUNT && !status; i++) {
    const char *text = i < COUNT ? texts[i] : query;
    status = nanoembed_embed_text(model, workspace, text, strlen(text), vectors[i], DIMENSIONS, NULL, &error);
  }
  if (!status) status = nanoembed_top_k(vectors[COUNT], DIMENSIONS, vectors[0], COUNT, best, 1, &found);
  return status;
}

void setup() {
  Serial.begin(115200);
  nanoembed_scored best;
  nanoembed_status status = search("How do I reset my password?", &best);
  Serial.println(status ? nanoembed_status_message(status) : texts[best.row]);
}

void loop() {}
