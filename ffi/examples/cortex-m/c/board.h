/* An emulated Cortex-M4 in QEMU (mps2-an386): start-up, files of the host by semihosting as an SD card, a clock. */

#ifndef BOARD_H
#define BOARD_H

#include <nanoembed.h>

/* Opens a file of the host whose name ends with a zero: mode 1 reads, 5 writes. Ends the program if that fails. */
uint32_t board_open(const char *name, uint32_t mode);
uint32_t board_length(uint32_t file);
void board_write(uint32_t file, const void *bytes, size_t length);
void board_close(uint32_t file);
/* A callback for nanoembed_source_from_callback; the context points to the file. */
int32_t board_read_at(void *context, uint64_t offset, uint8_t *destination, size_t length, size_t *read);

/* The next of the program's arguments, or "". */
const char *board_argument(void);
void board_print(const char *text);
/* Prints a label, a number and a line's end. */
void board_number(const char *label, uint32_t number);
/* Ends the program if a call has failed. */
void board_check(nanoembed_status status, const char *what);
/* Prints how much memory was used in all, and ends the program. */
void board_end(void);

/* The program. */
void program(void);

#endif
