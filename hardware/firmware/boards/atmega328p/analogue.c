/* Analogue inputs A0 to A5: one conversion a tick, in turn, against the supply of 5 V. */
#include <avr/io.h>

#include "board.h"
#include "board_config.h"
#include "parts.h"

static uint16_t found[BOARD_INPUTS];
static uint8_t converted;

static void start(uint8_t input)
{
    ADMUX = (uint8_t)(_BV(REFS0) | input);
    ADCSRA = _BV(ADEN) | _BV(ADSC) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0);
}

void analogue_begin(void)
{
    DIDR0 = 0x3F;
    start(0);
}

void analogue_tick(void)
{
    uint16_t ten_bits = ADC;
    found[converted] = (uint16_t)(ten_bits << 6 | ten_bits >> 4); /* 1023 becomes 65535 */
    converted = converted + 1 < BOARD_INPUTS ? (uint8_t)(converted + 1) : 0;
    start(converted);
}

uint16_t board_input(uint8_t index)
{
    return found[index];
}
