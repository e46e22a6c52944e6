/* Registers that the port uses, with the names of the reference manual RM0090. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define BIT(n) (1u << (n))

#define RCC_CR REGISTER(0x40023800)
#define RCC_CR_HSEON BIT(16)
#define RCC_CR_HSERDY BIT(17)
#define RCC_CR_PLLON BIT(24)
#define RCC_CR_PLLRDY BIT(25)
#define RCC_PLLCFGR REGISTER(0x40023804)
#define RCC_PLLCFGR_SRC_HSE BIT(22)
#define RCC_CFGR REGISTER(0x40023808)
#define RCC_CFGR_SW_PLL 2u
#define RCC_CFGR_SWS_PLL 8u
#define RCC_CFGR_PPRE1_4 (5u << 10)
#define RCC_CFGR_PPRE2_2 (4u << 13)
#define RCC_AHB1ENR REGISTER(0x40023830)
#define RCC_APB1ENR REGISTER(0x40023840)
#define RCC_APB2ENR REGISTER(0x40023844)
#define RCC_CSR REGISTER(0x40023874)
#define RCC_CSR_RMVF BIT(24)
#define RCC_CSR_IWDGRSTF BIT(29)
#define FLASH_ACR REGISTER(0x40023C00)

#define GPIOA 0x40020000u
#define GPIOB 0x40020400u
#define GPIOC 0x40020800u
#define GPIO_MODER(port) REGISTER((port) + 0x00)
#define GPIO_PUPDR(port) REGISTER((port) + 0x0C)
#define GPIO_IDR(port) REGISTER((port) + 0x10)
#define GPIO_BSRR(port) REGISTER((port) + 0x18)
#define GPIO_AFRL(port) REGISTER((port) + 0x20)
#define GPIO_AFRH(port) REGISTER((port) + 0x24)

#define USART1_SR REGISTER(0x40011000)
#define USART_SR_RXNE BIT(5)
#define USART_SR_TXE BIT(7)
#define USART1_DR REGISTER(0x40011004)
#define USART1_BRR REGISTER(0x40011008)
#define USART1_CR1 REGISTER(0x4001100C)
#define USART_CR1_RE BIT(2)
#define USART_CR1_TE BIT(3)
#define USART_CR1_RXNEIE BIT(5)
#define USART_CR1_TXEIE BIT(7)
#define USART_CR1_UE BIT(13)

#define TIM3 0x40000400u
#define TIM4 0x40000800u
#define TIM_CR1(timer) REGISTER((timer) + 0x00)
#define TIM_EGR(timer) REGISTER((timer) + 0x14)
#define TIM_CCMR1(timer) REGISTER((timer) + 0x18)
#define TIM_CCMR2(timer) REGISTER((timer) + 0x1C)
#define TIM_CCER(timer) REGISTER((timer) + 0x20)
#define TIM_CNT(timer) REGISTER((timer) + 0x24)
#define TIM_PSC(timer) REGISTER((timer) + 0x28)
#define TIM_ARR(timer) REGISTER((timer) + 0x2C)
#define TIM_CCR(timer, number) REGISTER((timer) + 0x34 + 4u * (number))

#define ADC1_SR REGISTER(0x40012000)
#define ADC1_CR2 REGISTER(0x40012008)
#define ADC1_SMPR1 REGISTER(0x4001200C)
#define ADC1_SMPR2 REGISTER(0x40012010)
#define ADC1_SQR3 REGISTER(0x40012034)
#define ADC1_DR REGISTER(0x4001204C)
#define ADC_CCR REGISTER(0x40012304)

#define IWDG_KR REGISTER(0x40003000)
#define IWDG_PR REGISTER(0x40003004)
#define IWDG_RLR REGISTER(0x40003008)

#define SYSTICK_CTRL REGISTER(0xE000E010)
#define SYSTICK_LOAD REGISTER(0xE000E014)
#define SYSTICK_VAL REGISTER(0xE000E018)
#define NVIC_ISER(n) REGISTER(0xE000E100 + 4u * (n))
#define USART1_INTERRUPT 37u

static inline void disable_interrupts(void)
{
    __asm__ volatile("cpsid i" ::: "memory");
}

static inline void enable_interrupts(void)
{
    __asm__ volatile("cpsie i" ::: "memory");
}

/* Sleep until an interrupt is pending, even one that is disabled by `disable_interrupts`. */
static inline void wait_for_interrupt(void)
{
    __asm__ volatile("wfi" ::: "memory");
}

#endif
