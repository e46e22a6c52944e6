/* USART 1, 8N1, 500000 baud: interrupts and two ring buffers. */
#include "board.h"
#include "parts.h"
#include "registers.h"

#ifndef BAUD_RATE
#define BAUD_RATE 500000u
#endif
#define CR1_IDLE (USART_CR1_UE | USART_CR1_TE | USART_CR1_RE | USART_CR1_RXNEIE)

/* Indices of the rings wrap by themselves. */
static volatile uint8_t received[256], sent[256];
static volatile uint8_t received_in, received_out, sent_in, sent_out;

void usart_begin(void)
{
    USART1_BRR = CLOCK_HZ / 2u / BAUD_RATE;
    USART1_CR1 = CR1_IDLE;
    NVIC_ISER(USART1_INTERRUPT / 32u) = BIT(USART1_INTERRUPT % 32u);
}

/* Send a byte if the transmitter is ready; interrupts are off. */
static bool send_one(void)
{
    if (!(USART1_SR & USART_SR_TXE))
        return false;
    uint8_t out = sent_out;
    if (out == sent_in) {
        USART1_CR1 = CR1_IDLE;
        return false;
    }
    USART1_DR = sent[out];
    sent_out = (uint8_t)(out + 1);
    return true;
}

void usart1_interrupt(void)
{
    if (USART1_SR & USART_SR_RXNE) {
        uint8_t byte = (uint8_t)USART1_DR, in = received_in;
        if ((uint8_t)(in + 1) != received_out) { /* else it is lost, and a CRC will not match */
            received[in] = byte;
            received_in = (uint8_t)(in + 1);
        }
    }
    send_one();
}

bool usart_waiting(void)
{
    return received_in != received_out;
}

bool usart_take(uint8_t *byte)
{
    uint8_t out = received_out;
    if (received_in == out)
        return false;
    *byte = received[out];
    received_out = (uint8_t)(out + 1);
    return true;
}

void board_send(const uint8_t *bytes, uint8_t length)
{
    uint8_t in = sent_in;
    if ((uint8_t)(sent_out - in - 1) < length) /* room: 255 bytes less those that wait */
        return;
    while (length-- != 0)
        sent[in++] = *bytes++;
    sent_in = in;
    USART1_CR1 = CR1_IDLE | USART_CR1_TXEIE;
    disable_interrupts(); /* QEMU 7.2 is always ready, but has no interrupt that says so */
    while (send_one()) {
    }
    enable_interrupts();
}
