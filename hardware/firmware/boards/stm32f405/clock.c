/* The processor's clock, the ticks, the time. */
#include "board.h"
#include "board_config.h"
#include "parts.h"
#include "registers.h"

#define CYCLES_PER_US (CLOCK_HZ / 1000000u)
#define TICK_CYCLES (BOARD_TICK * CYCLES_PER_US)
#define PATIENCE 1000000u /* rounds; an emulator never says that a clock is ready */

static volatile uint32_t ticks;
static uint32_t taken;

static bool wait_for(volatile uint32_t *where, uint32_t bits)
{
    for (uint32_t i = 0; i < PATIENCE; i++)
        if (*where & bits)
            return true;
    return false;
}

/* 168 MHz from the crystal, or from the inner oscillator of 16 MHz, exact to 1 %, without one. */
static void run_fast(void)
{
    RCC_CR |= RCC_CR_HSEON;
    uint32_t source = 16u; /* divided down to 1 MHz */
    if (wait_for(&RCC_CR, RCC_CR_HSERDY))
        source = RCC_PLLCFGR_SRC_HSE | HSE_MHZ;
    RCC_PLLCFGR = source | 336u << 6 | 7u << 24; /* times 336, by 2; by 7 for USB */
    RCC_CR |= RCC_CR_PLLON;
    FLASH_ACR = BIT(8) | BIT(9) | BIT(10) | 5u; /* caches, five wait states */
    RCC_CFGR = RCC_CFGR_PPRE1_4 | RCC_CFGR_PPRE2_2;
    if (!wait_for(&RCC_CR, RCC_CR_PLLRDY))
        return;
    RCC_CFGR |= RCC_CFGR_SW_PLL;
    wait_for(&RCC_CFGR, RCC_CFGR_SWS_PLL);
}

void clock_begin(void)
{
    run_fast();
    SYSTICK_LOAD = TICK_CYCLES - 1u;
    SYSTICK_VAL = 0;
    SYSTICK_CTRL = 7; /* the processor's clock, with its interrupt */
}

void systick_interrupt(void)
{
    ticks++;
}

bool clock_waiting(void)
{
    return taken != ticks;
}

bool clock_take_tick(void)
{
    if (taken == ticks)
        return false;
    taken++;
    return true;
}

uint32_t board_time(void)
{
    uint32_t whole, left;
    do {
        whole = ticks;
        left = SYSTICK_VAL;
    } while (whole != ticks);
    return whole * BOARD_TICK + (TICK_CYCLES - 1u - left) / CYCLES_PER_US;
}
