/* See board.h. */

#include "board.h"

extern uint32_t board_stack_top[] __asm__("__stack_top"), board_stack_limit[] __asm__("__stack_limit");
extern uint32_t board_bss_start[] __asm__("__bss_start"), board_bss_end[] __asm__("__bss_end");
extern uint32_t board_data_start[] __asm__("__data_start"), board_data_end[] __asm__("__data_end");
extern uint32_t board_data_load[] __asm__("__data_load");

#define PAINT 0xA5A5A5A5u

static uint32_t semihosting(uint32_t operation, const void *parameters) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameters;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void leave(uint32_t status) {
    uint32_t parameters[2];
    parameters[0] = 0x20026;
    parameters[1] = status;
    semihosting(0x20, parameters);
    for (;;) {}
}

static size_t length_of(const char *text) {
    size_t length = 0;
    while (text[length]) length++;
    return length;
}

uint32_t board_open(const char *name, uint32_t mode) {
    uint32_t parameters[3], file;
    parameters[0] = (uint32_t)name;
    parameters[1] = mode;
    parameters[2] = length_of(name);
    file = semihosting(0x01, parameters);
    if ((int32_t)file < 0) leave(4);
    return file;
}

void board_close(uint32_t file) { semihosting(0x02, &file); }

uint32_t board_length(uint32_t file) { return semihosting(0x0C, &file); }

void board_write(uint32_t file, const void *bytes, size_t length) {
    uint32_t parameters[3];
    parameters[0] = file;
    parameters[1] = (uint32_t)bytes;
    parameters[2] = length;
    semihosting(0x05, parameters);
}

int32_t board_read_at(void *context, uint64_t offset, uint8_t *destination, size_t length, size_t *read) {
    uint32_t parameters[3], missing;
    parameters[0] = *(const uint32_t *)context;
    parameters[1] = (uint32_t)offset;
    if ((int32_t)semihosting(0x0A, parameters) < 0) return 1;
    parameters[1] = (uint32_t)destination;
    parameters[2] = length;
    missing = semihosting(0x06, parameters);
    if (missing > length) return 1;
    *read = length - missing;
    return 0;
}

void board_print(const char *text) {
    uint32_t console = board_open(":tt", 4);
    board_write(console, text, length_of(text));
    board_close(console);
}

void board_number(const char *label, uint32_t number) {
    char digits[12];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    digits[--at] = '\n';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    board_print(label);
    board_print(digits + at);
}

const char *board_argument(void) {
    static char line[512];
    static char *at;
    uint32_t parameters[2];
    char *found;
    if (!at) {
        parameters[0] = (uint32_t)line;
        parameters[1] = sizeof line;
        semihosting(0x15, parameters);
        at = line;
    }
    found = at;
    while (*at && *at != ' ') at++;
    if (*at) *at++ = 0;
    return found;
}

void board_check(nanoembed_status status, const char *what) {
    if (!status) return;
    board_print(what);
    board_print(": ");
    board_print(nanoembed_status_message(status));
    board_print("\n");
    leave(1);
}

void board_end(void) {
    const volatile uint32_t *at = board_stack_limit;
    uint32_t statics = (uint32_t)board_bss_end - (uint32_t)board_data_start, stack;
    while (at < board_stack_top && *at == PAINT) at++;
    stack = (uint32_t)board_stack_top - (uint32_t)at;
    board_number("static memory: ", statics);
    board_number("stack: ", stack);
    board_number("ram: ", statics + stack);
    leave(0);
}

void Fault(void) {
    board_print("fault\n");
    leave(3);
}

void Reset(void) {
    uint32_t *to, *from = board_data_load, *here;
#ifdef __ARM_FP
    /* Coprocessors 10 and 11, the FPU, for everybody. */
    *(volatile uint32_t *)0xE000ED88 |= 0xF00000;
#endif
    __asm__ volatile("dsb\n isb\n mov %0, sp" : "=r"(here));
    for (to = board_data_start; to < board_data_end;) *to++ = *from++;
    for (to = board_bss_start; to < board_bss_end;) *to++ = 0;
    /* The stack is painted, to see later how deep it went. */
    for (to = board_stack_limit; to < here - 16;) *to++ = PAINT;
    program();
    board_end();
}

typedef void (*handler)(void);
__attribute__((section(".vectors"), used)) static const handler vectors[16] = {
    (handler)board_stack_top, Reset, Fault, Fault, Fault, Fault, Fault, Fault,
    Fault, Fault, Fault, Fault, Fault, Fault, Fault, Fault,
};
