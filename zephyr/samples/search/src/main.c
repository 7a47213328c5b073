/* Finds the texts that are nearest in meaning to a query. The model is a .weights file that is read piece by piece: the one
 * at CONFIG_SAMPLE_FILE where there are file systems, else at the beginning of the partition that the devicetree labels
 * `nanoembed_model`; or, without such a partition, in the image. */

#include <nanoembed.h>

#include <stdlib.h>
#include <string.h>

/* Headers have their folder since Zephyr 3.1. */
#if __has_include(<zephyr/kernel.h>)
#include <zephyr/kernel.h>
#else
#include <zephyr.h>
#endif

#if defined(CONFIG_SAMPLE_FILE)
#include <nanoembed_fs.h>

static struct nanoembed_fs_file file;

static nanoembed_status open_file(nanoembed_source *source) {
    return nanoembed_fs_source(CONFIG_SAMPLE_FILE, &file, source);
}
#elif DT_NODE_EXISTS(DT_NODELABEL(nanoembed_model))
#include <nanoembed_flash.h>
#if __has_include(<zephyr/storage/flash_map.h>)
#include <zephyr/storage/flash_map.h>
#else
#include <storage/flash_map.h>
#endif

static nanoembed_status open_file(nanoembed_source *source) {
    return nanoembed_flash_source(DT_FIXED_PARTITION_ID(DT_NODELABEL(nanoembed_model)), 0, source);
}
#else
__asm__(".section .rodata.model, \"a\"\n.balign 16\nmodel_start:\n.incbin \"" MODEL_FILE "\"\nmodel_end:\n.text\n");
extern const uint8_t model_start[], model_end[];

static nanoembed_status open_file(nanoembed_source *source) {
    return nanoembed_source_from_buffer(model_start, (size_t)(model_end - model_start), source);
}
#endif

#define FOUND 3

static const char *const texts[] = {
    "The weather is lovely today.",
    "He drove to the stadium.",
    "The battery is almost empty.",
    "Click on the link to choose a new password.",
    "The pump has stopped.",
    "A door was left open.",
};

/* The model, its workspace and the vectors, one behind the other. */
static uint8_t arena[CONFIG_SAMPLE_ARENA_BYTES] __aligned(NANOEMBED_ALIGN);

static nanoembed_model *model;
static nanoembed_workspace *workspace;
static nanoembed_plan plan = {.size = sizeof plan};
static nanoembed_error error = {.size = sizeof error};

static void print_stack(void) {
#if defined(CONFIG_INIT_STACKS) && defined(CONFIG_THREAD_STACK_INFO)
    size_t unused;
    if (k_thread_stack_space_get(k_current_get(), &unused) == 0)
        printk("stack %u bytes\n", (unsigned)(CONFIG_SAMPLE_STACK_BYTES - unused));
#endif
}

/* Opens the model and its workspace at the front of the arena; how much of it they take goes to `*used`. */
static nanoembed_status open_model(size_t *used) {
    nanoembed_source source = {.size = sizeof source};
    nanoembed_model_options options = {
        .size = sizeof options, .tokens = 32, .block_tokens = 8, .vocabulary = NANOEMBED_VOCABULARY_IN_FILE};
    size_t at;
    nanoembed_status status = open_file(&source);
    if (status) return status;
    status = nanoembed_plan_model(&source, &options, arena, sizeof arena, &plan, &error);
    if (status == NANOEMBED_TRAILING_BYTES) {
        /* The partition is longer than the file. */
        source.length = error.offset;
        status = nanoembed_plan_model(&source, &options, arena, sizeof arena, &plan, &error);
    }
    if (status) return status;
    at = ROUND_UP(plan.model_bytes, NANOEMBED_ALIGN);
    if (at > sizeof arena) return NANOEMBED_BUFFER_TOO_SMALL;
    /* Opening has its scratch memory where the workspace will be. */
    status = nanoembed_model_init(&source, &options, arena, plan.model_bytes, arena + at, sizeof arena - at, &model, &error);
    if (!status) status = nanoembed_workspace_init(model, arena + at, sizeof arena - at, &workspace);
    *used = at + ROUND_UP(plan.workspace_bytes, NANOEMBED_ALIGN);
    return status;
}

static nanoembed_status embed(const char *text, float *vector) {
    return nanoembed_embed_text(model, workspace, text, strlen(text), vector, plan.dimensions, NULL, &error);
}

static nanoembed_status search(const char *query) {
    nanoembed_scored best[FOUND];
    size_t used, found, i;
    float *vectors, *asked;
    nanoembed_status status = open_model(&used);
    if (status) return status;
    if (sizeof arena < used + (ARRAY_SIZE(texts) + 1) * plan.dimensions * sizeof *vectors) return NANOEMBED_BUFFER_TOO_SMALL;
    vectors = (float *)(arena + used);
    asked = vectors + ARRAY_SIZE(texts) * plan.dimensions;
    for (i = 0; i < ARRAY_SIZE(texts) && !status; i++) status = embed(texts[i], vectors + i * plan.dimensions);
    if (!status) status = embed(query, asked);
    if (!status) status = nanoembed_top_k(asked, plan.dimensions, vectors, ARRAY_SIZE(texts), best, FOUND, &found);
    if (status) return status;
    printk("model %u bytes, workspace %u bytes\n%s\n", (unsigned)plan.model_bytes, (unsigned)plan.workspace_bytes, query);
    for (i = 0; i < found; i++) {
        int thousandths = (int)(best[i].score * 1000 + (best[i].score < 0 ? -0.5f : 0.5f));
        printk("%s%d.%03d %s\n", thousandths < 0 ? "-" : "", abs(thousandths) / 1000, abs(thousandths) % 1000, texts[best[i].row]);
    }
    return NANOEMBED_OK;
}

static void run(void *first, void *second, void *third) {
    char why[160] = "";
    nanoembed_status status = search(CONFIG_SAMPLE_QUERY);
    ARG_UNUSED(first);
    ARG_UNUSED(second);
    ARG_UNUSED(third);
    if (status) {
        if (error.status == status) (void)nanoembed_error_describe(&error, why, sizeof why);
        printk("failed: %s\n", why[0] ? why : nanoembed_status_message(status));
    }
    print_stack();
    printk("done\n");
}

K_THREAD_DEFINE(searching, CONFIG_SAMPLE_STACK_BYTES, run, NULL, NULL, NULL, 7, 0, 0);
