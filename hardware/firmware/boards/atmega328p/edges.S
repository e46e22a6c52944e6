/* void edges(volatile uint8_t *port, uint8_t first, uint8_t second, uint8_t time, uint8_t apart);
 *
 * Write `first` to a port when the low byte of Timer 1 is `time`, to the cycle, and `second`
 * 16 * apart cycles (`apart` microseconds) later; apart = 0: there is no second.
 * Interrupts are off. The time must lie less than 128 cycles ahead; if it has passed, the write
 * comes at once. Every write has the same delay after its time, so that it cancels in a pulse.
 *
 * A write of a port through a pointer is two cycles long. */
#include <avr/io.h>

    .section .text.edges, "ax", @progbits
    .global edges
    .type edges, @function
edges:
    ; r25:r24 port, r22 first, r20 second, r18 time, r16 apart
    movw r30, r24
    mov r19, r16
wait:                   ; seven cycles a round
    lds r24, TCNT1L
    mov r25, r18
    sub r25, r24        ; cycles that are left
    cpi r25, 8
    brge wait
    tst r25
    brmi now            ; too late
    sbrc r25, 0         ; one bit of what is left after the other, 0 to 7 cycles
    rjmp .+0
    sbrc r25, 1
    rjmp .+0
    sbrc r25, 1
    rjmp .+0
    sbrs r25, 2
    rjmp now
    nop
    rjmp .+0
    rjmp .+0
now:
    st Z, r22
    tst r19
    breq done
    rjmp last           ; arrives there 6 cycles after the first write
more:
    ldi r24, 4          ; 13 cycles: 1, 4 * 3 - 1, 1
again:
    dec r24
    brne again
    nop
last:
    dec r19
    brne more           ; 3 cycles when it goes on: 16 a round
    rjmp .+0            ; 2 when it does not, and 8: 16 since the round, or the write, began
    rjmp .+0
    rjmp .+0
    rjmp .+0
    st Z, r20
done:
    ret
    .size edges, . - edges
