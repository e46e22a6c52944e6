/* What runs before main: vectors, memory. */
#include <stdint.h>

#include "registers.h"

extern uint32_t stack_top, data_load, data_begin, data_end, bss_begin, bss_end;

int main(void);
void systick_interrupt(void);
void usart1_interrupt(void);

/* An interrupt nobody expects: wait for the watchdog. */
static void unexpected(void)
{
    for (;;) {
    }
}

void reset(void)
{
    for (uint32_t *to = &data_begin, *from = &data_load; to < &data_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_begin; to < &bss_end;)
        *to++ = 0;
    main();
    unexpected();
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector vectors[16 + USART1_INTERRUPT + 1] = {
    [0] = (vector)(uintptr_t)&stack_top,
    [1] = reset,
    [2 ... 14] = unexpected,
    [15] = systick_interrupt,
    [16 ... 16 + USART1_INTERRUPT - 1] = unexpected,
    [16 + USART1_INTERRUPT] = usart1_interrupt,
};
