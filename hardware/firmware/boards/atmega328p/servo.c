/* Eight servos: pulses of 500 to 2400 us at 100 Hz, exact to a cycle of 16 MHz.
 *
 * A frame of 10 ms has four slots of 2.5 ms; a slot holds the pulses of two channels of one port,
 * which begin together. Each interrupt comes LEAD cycles early and waits for the very cycle, so
 * that other interrupts do not move the edges. Pulses differ by whole microseconds: two that end
 * less than APART_MIN cycles apart are ended by one interrupt. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <util/atomic.h>

#include "board.h"
#include "board_config.h"
#include "parts.h"

#define LEAD 208u      /* longest wait for another interrupt, and the way to `edges` [cycles] */
#define APART_MIN 272u /* LEAD, and the time to set up the next interrupt [cycles] */
#define NEAR 90u       /* below the 128 cycles of `edges` */

void edges(volatile uint8_t *port, uint8_t first, uint8_t second, uint8_t time, uint8_t apart);

static volatile uint16_t widths[BOARD_CHANNELS]; /* [cycles]; 0: off */

/* One interrupt that ends pulses: the pins that stay as they are, and those that still do `apart`
 * microseconds later. */
typedef struct {
    uint16_t time; /* on Timer 1 */
    uint8_t keep, keep_later, apart;
} ending;

static ending endings[2]; /* of the present slot */
static const ending *next_ending, *last_ending;
static volatile uint8_t *port; /* of the present slot */

/* The next slot. */
static struct {
    uint8_t pin, pin2;      /* of its two channels */
    uint16_t width, width2; /* of their pulses [cycles]; 0: none */
} slot;

void outputs_begin(void)
{
    DDRD |= 0xF0;
    DDRB |= 0x0F;
}

bool outputs_ready(void)
{
    return true;
}

void outputs_commit(void)
{
}

static void wait_until_near(uint16_t time)
{
    while ((int16_t)(time - TCNT1) > (int16_t)NEAR) {
    }
}

/* Plan the ends of two pulses; the first is not the later one. */
static void plan_two(uint16_t time, uint8_t pin, uint16_t later, uint8_t other)
{
    uint16_t cycles = (uint16_t)(later - time);
    uint8_t both = pin | other;
    endings[0] = (ending){.time = time, .keep = (uint8_t)~pin, .keep_later = (uint8_t)~both};
    if (cycles == 0) {
        endings[0].keep = (uint8_t)~both;
    } else if (cycles < APART_MIN) {
        endings[0].apart = (uint8_t)(cycles / CYCLES_PER_US);
    } else {
        endings[1] = (ending){.time = later, .keep = (uint8_t)~both};
        last_ending = &endings[1];
    }
}

static void plan_endings(uint16_t start)
{
    uint16_t time = (uint16_t)(start + slot.width), time2 = (uint16_t)(start + slot.width2);
    next_ending = last_ending = endings;
    if (slot.width2 == 0)
        plan_two(time, slot.pin, time, 0);
    else if (slot.width == 0)
        plan_two(time2, slot.pin2, time2, 0);
    else if (slot.width <= slot.width2)
        plan_two(time, slot.pin, time2, slot.pin2);
    else
        plan_two(time2, slot.pin2, time, slot.pin);
}

/* Prepare the next slot, so that its interrupt has little to do before the edge. */
static void plan_slot(void)
{
    static uint8_t number;
    number = (uint8_t)((number + 1u) & 3u);
    slot.pin = number & 1u ? 0x40 : 0x10;
    if (number & 2u)
        slot.pin >>= 4;
    slot.pin2 = (uint8_t)(slot.pin << 1);
    slot.width = widths[2 * number];
    slot.width2 = widths[2 * number + 1];
}

static void interrupt_at_ending(void)
{
    OCR1B = (uint16_t)(next_ending->time - LEAD);
}

ISR(TIMER1_COMPA_vect)
{
    uint8_t pins = 0;
    if (slot.width != 0)
        pins = slot.pin;
    if (slot.width2 != 0)
        pins |= slot.pin2;
    if (pins != 0) {
        uint16_t start = (uint16_t)(OCR1A + LEAD);
        port = pins < 0x10 ? &PORTB : &PORTD;
        pins |= *port;
        wait_until_near(start);
        edges(port, pins, 0, (uint8_t)start, 0);
        plan_endings(start);
        interrupt_at_ending();
        TIFR1 = _BV(OCF1B);
        TIMSK1 = _BV(OCIE1A) | _BV(OCIE1B);
    }
    plan_slot();
    clock_tick();
}

ISR(TIMER1_COMPB_vect)
{
    const ending *present = next_ending;
    uint8_t pins = *port;
    wait_until_near(present->time);
    edges(port, pins & present->keep, pins & present->keep_later, (uint8_t)present->time,
          present->apart);
    if (present != last_ending) {
        next_ending = last_ending;
        interrupt_at_ending();
    } else {
        TIMSK1 = _BV(OCIE1A);
    }
}

void board_switch_on(uint8_t channel, int32_t value)
{
    uint16_t cycles = (uint16_t)((uint16_t)value * CYCLES_PER_US);
    ATOMIC_BLOCK(ATOMIC_FORCEON)
    {
        widths[channel] = cycles;
    }
}

void board_move(uint8_t channel, position value)
{
    board_switch_on(channel, (int32_t)(value / POSITION_ONE));
}

int32_t board_halt(uint8_t channel)
{
    return board_output(channel);
}

int32_t board_output(uint8_t channel)
{
    return (int32_t)(widths[channel] / CYCLES_PER_US);
}
