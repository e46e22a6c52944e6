/* STM32F405 or F407 at 168 MHz, with eight servos. Another crystal: `make HSE_MHZ=...`.
 *
 *     PA9, PA10              USART1, TX and RX, 500000 baud (its ROM loads firmware there, too)
 *     PA6, PA7, PB0, PB1     channels 0 to 3 (Timer 3)
 *     PB6, PB7, PB8, PB9     channels 4 to 7 (Timer 4), half a frame later
 *     PC0                    emergency stop: a normally closed switch to ground
 *     PA1 to PA5, PC2        analogue inputs, 0 to 3.3 V
 *     PC12                   LED of the Olimex STM32-H405 to the supply, lit while armed */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

#include "message.h"

#define BOARD_NAME "stm32f405 servo"
#define BOARD_CHANNELS 8
#define BOARD_INPUTS 6
#define BOARD_UNIT UNIT_MICROSECONDS
#define BOARD_LEAST 500
#define BOARD_GREATEST 2400
#define BOARD_RATE_MAX 0u
#define BOARD_COMMANDS_MAX 200
#define BOARD_TICK 2500u
#define BOARD_GLIDE 0

#endif
