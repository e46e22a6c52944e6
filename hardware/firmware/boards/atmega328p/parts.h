/* Parts of the port. Interrupts hold up others for less than 40 us, twice the time of a byte: the
 * UART keeps two bytes besides the one that arrives. */
#ifndef PARTS_H
#define PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* uart.c */
void uart_begin(void);
bool uart_take(uint8_t *byte); /* whether one has arrived */
bool uart_waiting(void);       /* whether one has arrived; interrupts are off */

/* clock.c: Timer 1 runs at 16 MHz and is never set; TIMER1_COMPA comes at each tick. */
#define CYCLES_PER_US 16u
#define TICK_CYCLES (BOARD_TICK * CYCLES_PER_US)
void clock_begin(void);
void clock_tick(void);      /* from TIMER1_COMPA: note the tick, ask for the next */
bool clock_take_tick(void); /* whether one has come that nobody took */
bool clock_waiting(void);   /* the same, taking none; interrupts are off */

/* analogue.c */
void analogue_begin(void);
void analogue_tick(void); /* take one conversion, start the next */

/* servo.c or stepper.c */
void outputs_begin(void);
bool outputs_ready(void);  /* whether board_move can take another tick */
void outputs_commit(void); /* after the calls of board_move of a tick */

#endif
