/* Arduino Uno and Nano (ATmega328P, 16 MHz), with eight servos or four stepper drivers.
 *
 *     D0, D1      UART, 500000 baud
 *     D2          emergency stop: a normally closed switch to ground
 *     D4 to D11   servo build: channels 0 to 7
 *     D4 to D7    stepper build: STEP of channels 0 to 3
 *     D8 to D11   stepper build: DIR of channels 0 to 3
 *     D12         stepper build: EN of all drivers, low from the first command on
 *     D13         LED, lit while armed
 *     A0 to A5    analogue inputs, 0 to 5 V */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

#include "message.h"

#define BOARD_INPUTS 6
#define BOARD_TICK 2500u

#ifdef BUILD_stepper
#define BOARD_NAME "atmega328p step"
#define BOARD_CHANNELS 4
#define BOARD_UNIT UNIT_STEPS
#define BOARD_LEAST (-1000000000L)
#define BOARD_GREATEST 1000000000L
#define BOARD_RATE_MAX 15000u
#define BOARD_COMMANDS_MAX 200
#define BOARD_GLIDE 1
#else
#define BOARD_NAME "atmega328p servo"
#define BOARD_CHANNELS 8
#define BOARD_UNIT UNIT_MICROSECONDS
#define BOARD_LEAST 500
#define BOARD_GREATEST 2400
#define BOARD_RATE_MAX 0u
#define BOARD_COMMANDS_MAX 200
#define BOARD_GLIDE 0
#endif

#endif
