/* As much of Arduino's core as the sketch uses, over the board of examples/cortex-m. */

#include <string.h>

extern "C" {
#include "board.h"
}

struct {
    void begin(unsigned long) {}
    void println(const char *text) {
        board_print(text);
        board_print("\n");
    }
} Serial;
