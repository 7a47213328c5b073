/* A sketch as the IDE makes a program of it: Arduino.h before, setup() at the start. */

#include "Arduino.h"

#include SKETCH

extern "C" void program() { setup(); }
