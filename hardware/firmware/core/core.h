/* State machine of a device that speaks the serial protocol; it knows no board. */
#ifndef CORE_H
#define CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "board_config.h"
#include "frame.h"
#include "message.h"
#include "motion.h"

#define FIRMWARE_MAJOR 1u
#define FIRMWARE_MINOR 0u

/* Silence after which an armed device stops [ms]. With a tick, and the 10 ms between two pulses of
 * a servo, it stays below the protocol's 100 ms. */
#define WATCHDOG_MS 85u

typedef struct {
    frame_parser parser;
    channel channels[BOARD_CHANNELS];
    uint8_t state;         /* bits of `enum state_bit`, without STATE_MOVING */
    uint8_t silent_ticks;  /* since the last command that was taken, or since ARM */
    bool any_sequence;     /* the next command is the first since ARM */
    uint16_t taken;        /* sequence of the last command that was taken */
    uint16_t refused;      /* commands; stays at 65535 */
    uint32_t command_time; /* of the last command that was taken [us] */
} core;

/* Begin with `*c` all 0: nothing configured, nothing armed, outputs off.
 *
 * `fault`: the last run of the firmware ended by the processor's own watchdog. */
void core_begin(core *c, bool fault);

/* Take one byte from the computer; answers go to board_send. */
void core_receive(core *c, uint8_t byte);

/* Go on by one tick, BOARD_TICK microseconds after the last. */
void core_tick(core *c);

#endif
