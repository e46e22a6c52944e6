/* Parts of the port. */
#ifndef PARTS_H
#define PARTS_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_HZ 168000000u /* processor; APB2 has a half of it, APB1 a quarter, its timers a half */

/* clock.c */
void clock_begin(void);
bool clock_take_tick(void); /* whether one has come that nobody took */
bool clock_waiting(void);

/* usart.c */
void usart_begin(void);
bool usart_take(uint8_t *byte); /* whether one has arrived */
bool usart_waiting(void);

/* servo.c */
void servo_begin(void);

/* analogue.c */
void analogue_begin(void);
void analogue_tick(void); /* take one conversion, start the next */

#endif
