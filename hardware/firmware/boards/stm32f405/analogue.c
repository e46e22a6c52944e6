/* Analogue inputs: one conversion a tick, in turn. */
#include "board.h"
#include "board_config.h"
#include "parts.h"
#include "registers.h"

/* PA1 to PA5, PC2. */
static const uint8_t channels[BOARD_INPUTS] = {1, 2, 3, 4, 5, 12};
static uint16_t found[BOARD_INPUTS];
static uint8_t converted;

static void start(void)
{
    ADC1_SQR3 = channels[converted];
    ADC1_CR2 = BIT(0) | BIT(30); /* on; start */
}

void analogue_begin(void)
{
    ADC_CCR = 1u << 16;         /* 84 MHz / 4 */
    ADC1_SMPR1 = ADC1_SMPR2 = 0x36DB6DBu; /* 56 cycles each */
    ADC1_CR2 = BIT(0);
    start();
}

void analogue_tick(void)
{
    uint16_t twelve_bits = (uint16_t)(ADC1_DR & 0xFFFu);
    found[converted] = (uint16_t)(twelve_bits << 4 | twelve_bits >> 8); /* 4095 becomes 65535 */
    converted = converted + 1 < BOARD_INPUTS ? (uint8_t)(converted + 1) : 0;
    start();
}

uint16_t board_input(uint8_t index)
{
    return found[index];
}
