/* Little-endian numbers in bytes, whatever the byte order and alignment of the processor. */
#ifndef BYTES_H
#define BYTES_H

#include <stdint.h>

static inline uint16_t get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | (uint16_t)((uint16_t)at[1] << 8));
}

static inline uint32_t get_u32(const uint8_t *at)
{
    return get_u16(at) | (uint32_t)get_u16(at + 2) << 16;
}

/* Two's complement without relying on how the compiler converts. */
static inline int32_t get_i32(const uint8_t *at)
{
    uint32_t value = get_u32(at);
    return value < 0x80000000u ? (int32_t)value : -(int32_t)(0xFFFFFFFFu - value) - 1;
}

static inline uint8_t *put_u16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value & 0xFFu);
    at[1] = (uint8_t)(value >> 8);
    return at + 2;
}

static inline uint8_t *put_u32(uint8_t *at, uint32_t value)
{
    return put_u16(put_u16(at, (uint16_t)(value & 0xFFFFu)), (uint16_t)(value >> 16));
}

static inline uint8_t *put_i32(uint8_t *at, int32_t value)
{
    return put_u32(at, (uint32_t)value);
}

#endif
