/* STM32F405: the main loop sleeps until an interrupt brings a byte or a tick. */
#include "core.h"
#include "parts.h"
#include "registers.h"

static core device;

/* Alternate functions 2 (timers) and 7 (USART), analogue inputs, the stop and the LED. */
static void pins_begin(void)
{
    RCC_AHB1ENR |= BIT(0) | BIT(1) | BIT(2);
    RCC_APB1ENR |= BIT(1) | BIT(2);
    RCC_APB2ENR |= BIT(4) | BIT(8);
    GPIO_AFRL(GPIOA) = 2u << 24 | 2u << 28;
    GPIO_AFRH(GPIOA) = 7u << 4 | 7u << 8;
    GPIO_AFRL(GPIOB) = 2u | 2u << 4 | 2u << 24 | 2u << 28;
    GPIO_AFRH(GPIOB) = 2u | 2u << 4;
    /* Two bits a pin: 1 output, 2 alternate function, 3 analogue. */
    GPIO_MODER(GPIOA) |= 3u << 2 | 3u << 4 | 3u << 6 | 3u << 8 | 3u << 10 | 2u << 12 | 2u << 14 |
                         2u << 18 | 2u << 20;
    GPIO_MODER(GPIOB) = (GPIO_MODER(GPIOB) & ~0x000FF00Fu) | 0x000AA00Au;
    GPIO_PUPDR(GPIOC) |= 1u; /* PC0 up */
    GPIO_BSRR(GPIOC) = BIT(12);
    GPIO_MODER(GPIOC) |= 3u << 4 | 1u << 24;
}

bool board_emergency(void)
{
    return GPIO_IDR(GPIOC) & BIT(0); /* pulled up: open switch, or a broken wire */
}

static void watchdog_begin(void)
{
    IWDG_KR = 0xCCCC;
    IWDG_KR = 0x5555;
    IWDG_PR = 3; /* 32 kHz / 32 */
    IWDG_RLR = 120;
}

int main(void)
{
    bool fault = RCC_CSR & RCC_CSR_IWDGRSTF;
    RCC_CSR |= RCC_CSR_RMVF;
    watchdog_begin();
    clock_begin();
    pins_begin();
    servo_begin();
    analogue_begin();
    usart_begin();
    core_begin(&device, fault);

    for (;;) {
        uint8_t byte;
        while (usart_take(&byte))
            core_receive(&device, byte);
        if (clock_take_tick()) {
            IWDG_KR = 0xAAAA;
            analogue_tick();
            core_tick(&device);
            GPIO_BSRR(GPIOC) = device.state & STATE_ARMED ? BIT(12 + 16) : BIT(12);
        }
        disable_interrupts();
        if (!usart_waiting() && !clock_waiting())
            wait_for_interrupt();
        enable_interrupts();
    }
}
