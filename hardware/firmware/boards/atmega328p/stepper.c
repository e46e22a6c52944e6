/* Four stepper drivers with STEP and DIR, by direct digital synthesis.
 *
 * Timer 2 interrupts at 20 kHz. An output's phase moves on by the same fraction of a step at each
 * interrupt of a tick; where it passes the middle between two steps, the motor steps. The main
 * loop puts one segment a tick into a queue, which the interrupt takes up in its own time: so the
 * motion is even, however busy the main loop was, and never faster than asked for. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "board.h"
#include "board_config.h"
#include "parts.h"

#define SEGMENT_INTERRUPTS 50u /* a tick of 2.5 ms at 20 kHz */
#define SEGMENTS 4u            /* the queue; one place stays empty */
#define STEP_MAX 0xFFFFu

typedef struct {
    uint16_t step[BOARD_CHANNELS]; /* 2^-16 of a motor's step, at each interrupt */
    uint8_t backwards;             /* one bit a channel */
} segment;

static segment queue[SEGMENTS];
static volatile uint8_t queue_in, queue_out;
static volatile uint8_t interrupts_left; /* of the segment at queue_out; 0: it has not begun */

static volatile int32_t counts[BOARD_CHANNELS]; /* steps, from what the first command set */
static uint16_t phases[BOARD_CHANNELS]; /* 0x8000: on a step; 0 and 0xFFFF: between two */

/* Of the main loop. */
static position planned[BOARD_CHANNELS]; /* at the end of the queue */
static segment next;

static uint8_t after(uint8_t place)
{
    return (uint8_t)((place + 1u) & (SEGMENTS - 1u));
}

void outputs_begin(void)
{
    PORTB |= _BV(PORTB4);
    DDRB |= 0x1F;
    DDRD |= 0xF0;
    TCCR2A = _BV(WGM21);
    OCR2A = 99; /* 16 MHz / 8 / 100 */
    TCCR2B = _BV(CS21);
}

bool outputs_ready(void)
{
    return after(queue_in) != queue_out;
}

ISR(TIMER1_COMPA_vect)
{
    clock_tick();
}

/* Go on by one interrupt. Returns the STEP pin of the output if it steps. Inlined with a constant
 * number: an index that is computed doubles the time of the interrupt. */
static inline __attribute__((always_inline)) uint8_t advance(const segment *present, uint8_t i)
{
    uint16_t before = phases[i], step = present->step[i], then;
    if (present->backwards & 1u << i) {
        phases[i] = then = (uint16_t)(before - step);
        if (then <= before)
            return 0;
        counts[i]--;
    } else {
        phases[i] = then = (uint16_t)(before + step);
        if (then >= before)
            return 0;
        counts[i]++;
    }
    return (uint8_t)(0x10u << i);
}

ISR(TIMER2_COMPA_vect)
{
    PORTD &= 0x0F; /* ends the pulses of the last interrupt */
    uint8_t out = queue_out;
    const segment *present = &queue[out];
    if (interrupts_left == 0) {
        if (out == queue_in) {
            TIMSK2 = 0;
            return;
        }
        interrupts_left = SEGMENT_INTERRUPTS;
        PORTB = (uint8_t)((PORTB & 0xF0) | present->backwards);
    }
    uint8_t pins = advance(present, 0) | advance(present, 1) | advance(present, 2);
    pins |= advance(present, 3);
    PORTD |= pins;
    if (--interrupts_left == 0)
        queue_out = after(out);
}

void board_move(uint8_t i, position value)
{
    position way = value - planned[i];
    bool backwards = way < 0;
    uint32_t size = (uint32_t)(backwards ? -way : way) / SEGMENT_INTERRUPTS;
    if (size > STEP_MAX)
        size = STEP_MAX;
    next.step[i] = (uint16_t)size;
    if (backwards)
        next.backwards = (uint8_t)(next.backwards | 1u << i);
    size *= SEGMENT_INTERRUPTS;
    planned[i] += backwards ? -(position)size : (position)size;
}

void outputs_commit(void)
{
    static const segment none;
    uint16_t any = 0;
    for (uint8_t i = 0; i < BOARD_CHANNELS; i++)
        any |= next.step[i];
    if (any != 0) {
        queue[queue_in] = next;
        ATOMIC_BLOCK(ATOMIC_FORCEON)
        {
            queue_in = after(queue_in);
            if (TIMSK2 == 0) {
                TIFR2 = _BV(OCF2A);
                TIMSK2 = _BV(OCIE2A);
            }
        }
    }
    next = none;
}

void board_switch_on(uint8_t i, int32_t value)
{
    ATOMIC_BLOCK(ATOMIC_FORCEON)
    {
        counts[i] = value;
        phases[i] = 0x8000;
    }
    planned[i] = (position)value * POSITION_ONE;
    PORTB &= (uint8_t)~_BV(PORTB4); /* the drivers are enabled, and stay so: they hold their load */
}

/* Ends the motion of all, since the core halts all at once. */
int32_t board_halt(uint8_t i)
{
    int32_t at;
    ATOMIC_BLOCK(ATOMIC_FORCEON)
    {
        interrupts_left = 0;
        queue_in = queue_out;
        phases[i] = 0x8000;
        at = counts[i];
    }
    planned[i] = (position)at * POSITION_ONE;
    return at;
}

int32_t board_output(uint8_t i)
{
    int32_t at;
    ATOMIC_BLOCK(ATOMIC_FORCEON)
    {
        at = counts[i];
    }
    return at;
}
