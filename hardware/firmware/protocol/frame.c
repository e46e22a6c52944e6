#include "frame.h"

#include "bytes.h"
#include "crc32.h"

void frame_drop(frame_parser *parser)
{
    if (parser->dropped < 0xFFFFu)
        parser->dropped++;
}

static void append(frame_parser *parser, uint8_t byte)
{
    if (parser->length < sizeof parser->bytes)
        parser->bytes[parser->length++] = byte;
    else
        parser->bad = true;
}

/* Length of the message of a complete frame; 0: the frame is damaged. */
static uint8_t finish(const frame_parser *parser)
{
    if (parser->bad || parser->block != 0 || parser->length < MESSAGE_MIN + CRC_BYTES)
        return 0;
    uint8_t length = (uint8_t)(parser->length - CRC_BYTES);
    return get_u32(parser->bytes + length) == crc32(parser->bytes, length) ? length : 0;
}

uint8_t frame_receive(frame_parser *parser, uint8_t byte)
{
    if (byte == 0) {
        uint8_t length = finish(parser);
        if (parser->begun && length == 0)
            frame_drop(parser);
        parser->length = parser->block = 0;
        parser->begun = parser->bad = false;
        return length;
    }
    if (parser->bad)
        return 0;
    if (parser->block == 0) {
        if (parser->begun)
            append(parser, 0);
        parser->block = (uint8_t)(byte - 1);
        parser->begun = true;
    } else {
        append(parser, byte);
        parser->block--;
    }
    return 0;
}

uint8_t frame_encode(const uint8_t *message, uint8_t length, uint8_t *wire)
{
    uint8_t crc[CRC_BYTES];
    put_u32(crc, crc32(message, length));

    uint8_t code = 0, end = 1; /* where the code byte of the block stands; where to write next */
    for (uint8_t i = 0; i < length + CRC_BYTES; i++) {
        uint8_t byte = i < length ? message[i] : crc[i - length];
        if (byte == 0) {
            wire[code] = (uint8_t)(end - code);
            code = end;
        } else {
            wire[end] = byte;
        }
        end++;
    }
    wire[code] = (uint8_t)(end - code);
    wire[end++] = 0;
    return end;
}
