/* Eight servos: pulses of whole microseconds at 100 Hz, made by Timers 3 and 4 alone. */
#include "board.h"
#include "parts.h"
#include "registers.h"

#define FRAME_US 10000u
#define PWM_PRELOADED 0x6868u /* in both halves of a CCMR: PWM mode 1, new widths at a new frame */

static void begin(uint32_t timer)
{
    TIM_PSC(timer) = CLOCK_HZ / 2u / 1000000u - 1u;
    TIM_ARR(timer) = FRAME_US - 1u;
    TIM_CCMR1(timer) = TIM_CCMR2(timer) = PWM_PRELOADED;
    TIM_CCER(timer) = 0x1111;
    TIM_EGR(timer) = 1; /* takes the prescaler */
}

void servo_begin(void)
{
    begin(TIM3);
    begin(TIM4);
    TIM_CNT(TIM4) = FRAME_US / 2u; /* not all motors draw their current at once */
    TIM_CR1(TIM3) = TIM_CR1(TIM4) = 1;
}

static volatile uint32_t *width_of(uint8_t channel)
{
    return channel < 4 ? &TIM_CCR(TIM3, channel) : &TIM_CCR(TIM4, channel - 4u);
}

void board_switch_on(uint8_t channel, int32_t value)
{
    *width_of(channel) = (uint32_t)value; /* 0, from the beginning: no pulse */
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
    return (int32_t)*width_of(channel);
}
