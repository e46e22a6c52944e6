/* ATmega328P: the main loop sleeps until an interrupt brings a byte or a tick. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>

#include "core.h"
#include "parts.h"

static core device;

bool board_emergency(void)
{
    return PIND & _BV(PIND2); /* pulled up: open switch, or a broken wire */
}

static void show_armed(void)
{
    if (device.state & STATE_ARMED)
        PORTB |= _BV(PORTB5);
    else
        PORTB &= (uint8_t)~_BV(PORTB5);
}

static void sleep_until_interrupt(void)
{
    cli();
    if (!uart_waiting() && !(clock_waiting() && outputs_ready())) {
        SMCR = _BV(SE);
        sei(); /* the instruction after it still runs: no interrupt slips in between */
        sleep_cpu();
        SMCR = 0;
    }
    sei();
}

int main(void)
{
    /* The processor's own watchdog, should this loop hang: then all pins go off. */
    bool fault = MCUSR & _BV(WDRF);
    MCUSR = 0;
    wdt_enable(WDTO_120MS);

    DDRB = _BV(DDB5);
    PORTD = _BV(PORTD2);
    SMCR = 0; /* idle: timers and UART go on */
    uart_begin();
    analogue_begin();
    outputs_begin();
    clock_begin();
    core_begin(&device, fault);
    sei();

    for (;;) {
        uint8_t byte;
        while (uart_take(&byte))
            core_receive(&device, byte);
        if (outputs_ready() && clock_take_tick()) {
            wdt_reset();
            analogue_tick();
            core_tick(&device);
            outputs_commit();
            show_armed();
        }
        sleep_until_interrupt();
    }
}
