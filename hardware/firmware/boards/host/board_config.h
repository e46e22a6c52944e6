/* A board that is a program on Linux: eight servos that nobody sees. See core/board.h. */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

#include "message.h"

#define BOARD_NAME "host"
#define BOARD_CHANNELS 8
#define BOARD_INPUTS 2
#define BOARD_UNIT UNIT_MICROSECONDS
#define BOARD_LEAST 500
#define BOARD_GREATEST 2400
#define BOARD_RATE_MAX 0u
#define BOARD_COMMANDS_MAX 200
#define BOARD_TICK 2500u
#define BOARD_GLIDE 0

#endif
