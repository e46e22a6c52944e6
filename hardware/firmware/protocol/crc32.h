/* CRC-32 of zlib and Ethernet, with a table of 16 entries: 64 bytes and two look-ups a byte. */
#ifndef CRC32_H
#define CRC32_H

#include <stdint.h>

uint32_t crc32(const uint8_t *bytes, uint8_t length);

#endif
