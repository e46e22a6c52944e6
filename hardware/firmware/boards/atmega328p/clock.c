/* Time: Timer 1 at 16 MHz, and the ticks. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "board.h"
#include "board_config.h"
#include "parts.h"

/* Never lets a compare value of the ticks, or of the pulses (whole microseconds later), be 0 to 7:
 * simavr 1.6 can miss those. */
#define FIRST_TICK (TICK_CYCLES + 40u)

static volatile uint32_t ticks;
static volatile uint16_t last; /* time of the last tick on Timer 1 */
static volatile uint8_t waiting;

void clock_begin(void)
{
    TCCR1A = 0;
    TCCR1B = _BV(CS10);
    OCR1A = FIRST_TICK;
    TIFR1 = _BV(OCF1A);
    TIMSK1 = _BV(OCIE1A);
}

void clock_tick(void)
{
    uint16_t time = OCR1A;
    OCR1A = (uint16_t)(time + TICK_CYCLES);
    last = time;
    ticks++;
    waiting++;
}

bool clock_waiting(void)
{
    return waiting != 0;
}

bool clock_take_tick(void)
{
    bool found = false;
    ATOMIC_BLOCK(ATOMIC_FORCEON)
    {
        if (waiting != 0) {
            waiting--;
            found = true;
        }
    }
    return found;
}

uint32_t board_time(void)
{
    uint32_t whole;
    uint16_t since;
    ATOMIC_BLOCK(ATOMIC_FORCEON)
    {
        whole = ticks;
        since = (uint16_t)(TCNT1 - last);
    }
    return whole * BOARD_TICK + since / CYCLES_PER_US;
}
