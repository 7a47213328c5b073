/* Says what is in a model while it arrives: from a socket, a pipe, a serial line. Here from standard input:
 *
 *   inspect_stream embd|gguf|safetensors|finalfusion < FILE
 *   nc HOST PORT | inspect_stream embd
 */

#include <nanoembed.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that reading takes, whatever the length of the file: the reader, and 8 KiB for items that a chunk's end cuts. */
static int32_t show(void *context, const nanoembed_event *event) {
    unsigned long *tokens = context;
    uint32_t i;
    switch (event->kind) {
    case NANOEMBED_EVENT_METADATA:
        printf("%.*s = %.*s\n", (int)event->key.length, (const char *)event->key.data, (int)event->value.length,
               (const char *)event->value.data);
        break;
    case NANOEMBED_EVENT_TOKEN:
        ++*tokens;
        break;
    case NANOEMBED_EVENT_TENSOR:
        printf("%.*s %s", (int)event->key.length, (const char *)event->key.data,
               nanoembed_dtype_name(event->tensor.dtype));
        for (i = 0; i < event->tensor.dimension_count; i++)
            printf(" %lu", (unsigned long)event->tensor.dimensions[i]);
        printf("\n");
        break;
    case NANOEMBED_EVENT_END:
        printf("%lu tokens, complete\n", *tokens);
        break;
    }
    return 0;
}

int main(int count, char **arguments) {
    nanoembed_reader_options options = {.size = sizeof options};
    nanoembed_reader *reader;
    nanoembed_error error = {.size = sizeof error};
    nanoembed_status status;
    size_t bytes = nanoembed_reader_bytes() + 8192, n;
    void *memory = malloc(bytes);
    uint8_t chunk[1500];
    unsigned long tokens = 0;
    if (count != 2) return fprintf(stderr, "usage: %s embd|gguf|safetensors|finalfusion < FILE\n", arguments[0]), 2;
    for (options.format = 1; strcmp(nanoembed_format_name(options.format), arguments[1]) != 0; options.format++)
        if (options.format > 16) return fprintf(stderr, "%s: no such format\n", arguments[1]), 2;
    status = nanoembed_reader_init(NULL, &options, memory, bytes, &reader);
    error.status = status;
    error.offset = NANOEMBED_NO_OFFSET;
    while (!status && (n = fread(chunk, 1, sizeof chunk, stdin)) > 0)
        status = nanoembed_reader_feed(reader, chunk, n, show, &tokens, &error);
    if (!status) status = nanoembed_reader_finish(reader, show, &tokens, &error);
    if (status) {
        char why[160];
        nanoembed_error_describe(&error, why, sizeof why);
        fprintf(stderr, "%s\n", why);
    }
    free(memory);
    return status != NANOEMBED_OK;
}
