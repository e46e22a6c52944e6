/* One output: its limits, and its way to a target no faster than its rate. Whole numbers only. */
#ifndef MOTION_H
#define MOTION_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"

typedef struct {
    int32_t low, high;   /* limits of commands [unit] */
    position step_max;   /* greatest change in a tick, from the rate */
    position step;       /* the one on the way to the present target, at most step_max */
    position at, target; /* where it is and where it goes */
    bool configured;
    bool on; /* a command has switched the output on */
} channel;

/* Take limits [unit] and a rate [unit/s] that have been checked. */
void motion_configure(channel *c, int32_t low, int32_t high, uint32_t rate);

/* Set a new target [unit], to be reached in `ticks` if the rate permits; 0: as soon as it does. */
void motion_aim(channel *c, int32_t target, uint8_t ticks);

/* Go on by one tick. Returns where the output shall be. */
position motion_step(channel *c);

/* Be at a value [unit] and stay there. */
void motion_rest(channel *c, int32_t value);

#endif
