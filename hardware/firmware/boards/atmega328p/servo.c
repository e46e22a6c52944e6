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

#define LEAD 192u      /* longest wait for other interrupts, and the way to `edges` [cycles] */
#define APART_MIN 288u /* LEAD, and the time in which an interrupt sets up the next [cycles] */
#define NEAR 64u       /* below the 128 cycles of `edges` */

void edges(volatile uint8_t *port, uint8_t first, uint8_t second, uint8_t time, uint8_t apart);

static volatile uint16_t widths[BOARD_CHANNELS]; /* [cycles]; 0: off */

/* Of the present slot. */
static volatile uint8_t *port;
static uint8_t ends[2];       /* pins that go low, in the order in which they do */
static uint16_t end_times[2]; /* on Timer 1 */
static uint8_t end, end_count;

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

static void add_end(uint16_t time, uint8_t pin)
{
    if (end_count == 1 && end_times[0] == time) {
        ends[0] |= pin;
        return;
    }
    uint8_t at = end_count++;
    if (at == 1 && (int16_t)(time - end_times[0]) < 0) {
        end_times[1] = end_times[0];
        ends[1] = ends[0];
        at = 0;
    }
    end_times[at] = time;
    ends[at] = pin;
}

static void interrupt_at_end(void)
{
    OCR1B = (uint16_t)(end_times[end] - LEAD);
}

ISR(TIMER1_COMPA_vect)
{
    static uint8_t slot;
    uint16_t start = (uint16_t)(clock_tick() + LEAD);
    const volatile uint16_t *width = &widths[2 * slot];
    uint8_t pin = slot & 1u ? 0x40 : 0x10;
    if (slot < 2) {
        port = &PORTD;
    } else {
        port = &PORTB;
        pin >>= 4;
    }
    slot = (uint8_t)((slot + 1u) & 3u);

    uint8_t pins = 0;
    end = end_count = 0;
    if (width[0] != 0) {
        pins = pin;
        add_end((uint16_t)(start + width[0]), pin);
    }
    if (width[1] != 0) {
        uint8_t other = (uint8_t)(pin << 1);
        pins |= other;
        add_end((uint16_t)(start + width[1]), other);
    }
    if (pins == 0)
        return;
    pins |= *port;
    wait_until_near(start);
    edges(port, pins, 0, (uint8_t)start, 0);
    interrupt_at_end();
    TIFR1 = _BV(OCF1B);
    TIMSK1 = _BV(OCIE1A) | _BV(OCIE1B);
}

ISR(TIMER1_COMPB_vect)
{
    uint16_t time = end_times[end];
    uint8_t low = *port & (uint8_t)~ends[end], lower = low, apart = 0;
    end++;
    if (end < end_count) {
        uint16_t later = (uint16_t)(end_times[end] - time);
        if (later < APART_MIN) {
            apart = (uint8_t)(later / CYCLES_PER_US);
            lower = low & (uint8_t)~ends[end];
            end++;
        }
    }
    wait_until_near(time);
    edges(port, low, lower, (uint8_t)time, apart);
    if (end < end_count)
        interrupt_at_end();
    else
        TIMSK1 = _BV(OCIE1A);
}

void board_switch_on(uint8_t channel, int32_t value)
{
    uint16_t width = (uint16_t)((uint16_t)value * CYCLES_PER_US);
    ATOMIC_BLOCK(ATOMIC_FORCEON)
    {
        widths[channel] = width;
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
