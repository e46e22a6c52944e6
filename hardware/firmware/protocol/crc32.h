/* CRC-32 of zlib and Ethernet, with two tables of 16 entries: 128 bytes, and shifts by whole bytes alone. */
#ifndef CRC32_H
#define CRC32_H

#include <stdint.h>

uint32_t crc32(const uint8_t *bytes, uint8_t length);

#endif
