/* Frames: COBS(message + CRC-32) and a byte 0. docs/reference/bridge-protocol.md describes them. */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define MESSAGE_MIN 4u
#define MESSAGE_MAX 96u
#define CRC_BYTES 4u
/* A frame on the wire: message, CRC, one byte of COBS (messages are shorter than 254), the 0. */
#define FRAME_MAX (MESSAGE_MAX + CRC_BYTES + 2u)

/* A receiver of frames; zero bytes are its initial state. */
typedef struct {
    uint8_t bytes[MESSAGE_MAX + CRC_BYTES];
    uint8_t length;   /* decoded so far */
    uint8_t block;    /* bytes until the next code byte of COBS */
    bool begun;       /* a byte has come since the last 0 */
    bool bad;         /* too long: wait for the next 0 */
    uint16_t dropped; /* frames that were dropped; stays at 65535 */
} frame_parser;

/* Take one byte. Returns the length of the message that it completes, in `parser->bytes` until
 * the next call, or 0. */
uint8_t frame_receive(frame_parser *parser, uint8_t byte);

/* Count a frame that was received well, but whose message makes no sense. */
void frame_drop(frame_parser *parser);

/* Write the frame of a message of 4 to 96 bytes; `wire` holds FRAME_MAX bytes. Returns its length. */
uint8_t frame_encode(const uint8_t *message, uint8_t length, uint8_t *wire);

#endif
