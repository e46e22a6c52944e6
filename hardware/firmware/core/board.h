/* What the core asks of a board. A port is one folder of boards/: a file board_config.h with the
 * numbers below, the functions below, and a main() that passes on bytes and ticks.
 *
 *     BOARD_NAME          at most 16 characters
 *     BOARD_CHANNELS      1 to 16
 *     BOARD_INPUTS        with 18 + 4 channels + 2 inputs <= 96
 *     BOARD_UNIT          a value of `enum unit`
 *     BOARD_LEAST         least and greatest value that an output takes [unit]; least > INT32_MIN
 *     BOARD_GREATEST
 *     BOARD_RATE_MAX      greatest rate of an output [unit/s], at most UINT32_MAX; 0: no limit
 *     BOARD_COMMANDS_MAX  most commands in a second [Hz]
 *     BOARD_TICK          time between two calls of core_tick [us], 1000 to 10000
 *     BOARD_GLIDE         1: spread a command's motion over the time between two commands, for
 *                         motors that step; 0: go at the channel's rate, for servos
 *
 * Everything is called from one thread, never from an interrupt. The core halts all outputs that
 * are on, or none. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

/* A value of an output in 2^-16 of its unit. */
typedef int64_t position;
#define POSITION_ONE 65536

/* Time since power-up [us], modulo 2^32. */
uint32_t board_time(void);

/* Whether the emergency input asks to stop, or its wire is broken. */
bool board_emergency(void);

/* An analogue input, 0 to 65535 of full scale. */
uint16_t board_input(uint8_t index);

/* Switch an output on, at a value, without moving. */
void board_switch_on(uint8_t channel, int32_t value);

/* Where an output that is on shall be one tick from now; called at every tick on its way. */
void board_move(uint8_t channel, position value);

/* End the motion of an output at once. Returns where it is. */
int32_t board_halt(uint8_t channel);

/* Present value of an output that is on. */
int32_t board_output(uint8_t channel);

/* Send bytes without waiting; what does not fit into the buffer is dropped as a whole. */
void board_send(const uint8_t *bytes, uint8_t length);

#endif
