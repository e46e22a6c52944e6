/* UART 0, 8N1, 500000 baud: interrupts and two ring buffers. */
#include <avr/interrupt.h>
#include <avr/io.h>

#include "board.h"
#include "parts.h"

#ifndef BAUD_RATE
#define BAUD_RATE 500000UL
#endif
/* Double speed: 8 samples a bit. 500000 baud is exact at 16 MHz. */
#define DIVIDER (F_CPU / 8UL / BAUD_RATE - 1UL)

/* Indices of the rings wrap by themselves. */
static volatile uint8_t received[256], sent[256];
static volatile uint8_t received_in, received_out, sent_in, sent_out;

void uart_begin(void)
{
    UCSR0A = _BV(U2X0);
    UBRR0 = (uint16_t)DIVIDER;
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
}

ISR(USART_RX_vect)
{
    uint8_t byte = UDR0, in = received_in;
    if ((uint8_t)(in + 1) != received_out) { /* else it is lost, and a CRC will not match */
        received[in] = byte;
        received_in = (uint8_t)(in + 1);
    }
}

ISR(USART_UDRE_vect)
{
    uint8_t out = sent_out;
    UDR0 = sent[out];
    sent_out = ++out;
    if (out == sent_in)
        UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
}

bool uart_waiting(void)
{
    return received_in != received_out;
}

bool uart_take(uint8_t *byte)
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
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0) | _BV(UDRIE0);
}
