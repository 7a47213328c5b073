/* Compares two files of little-endian floats: compare A B BOUND. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    FILE *a, *b;
    float x, y, most = 0;
    unsigned long floats = 0, same = 0;
    if (count != 4) return 2;
    a = fopen(arguments[1], "rb");
    b = fopen(arguments[2], "rb");
    if (!a || !b) return 2;
    while (fread(&x, 4, 1, a) == 1) {
        if (fread(&y, 4, 1, b) != 1) return printf("lengths differ\n"), 1;
        floats++;
        same += x == y;
        if (!(fabsf(x - y) <= most)) most = fabsf(x - y);
    }
    if (fread(&y, 4, 1, b) == 1) return printf("lengths differ\n"), 1;
    printf("%lu floats, %lu the same bits, largest difference %g\n", floats, same, most);
    return !(floats > 0 && most <= atof(arguments[3]));
}
