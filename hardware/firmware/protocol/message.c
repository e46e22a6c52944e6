#include "message.h"

#include <string.h>

#include "bytes.h"

#define HEADER_BYTES 4u

static bool decode_configure(const uint8_t *content, uint8_t length, configure_content *found)
{
    if (length != 17)
        return false;
    found->channel = content[0];
    found->low = get_i32(content + 1);
    found->high = get_i32(content + 5);
    found->rest = get_i32(content + 9);
    found->rate = get_u32(content + 13);
    return true;
}

static bool decode_command(const uint8_t *content, uint8_t length, command_content *found)
{
    if (length < 6)
        return false;
    found->time = get_u32(content);
    found->mask = get_u16(content + 4);
    uint8_t at = 6;
    for (uint8_t i = 0; i < CHANNELS_MAX; i++) {
        found->values[i] = 0;
        if (found->mask >> i & 1u) {
            if (at + 4 > length)
                return false;
            found->values[i] = get_i32(content + at);
            at = (uint8_t)(at + 4);
        }
    }
    return at == length;
}

bool message_decode(const uint8_t *bytes, uint8_t length, request *found)
{
    if (length < HEADER_BYTES)
        return false;
    const uint8_t *content = bytes + HEADER_BYTES;
    uint8_t size = (uint8_t)(length - HEADER_BYTES);
    found->type = bytes[1];
    found->sequence = get_u16(bytes + 2);
    if (bytes[0] != PROTOCOL_VERSION)
        return found->type == HELLO;

    switch (found->type) {
    case HELLO:
    case STOP:
    case PING:
        return size == 0;
    case CONFIGURE:
        return decode_configure(content, size, &found->content.configure);
    case ARM:
        if (size != 1 || content[0] > 1)
            return false;
        found->content.arm = content[0] == 1;
        return true;
    case COMMAND:
        return decode_command(content, size, &found->content.command);
    default:
        return false;
    }
}

static uint8_t *encode_header(uint8_t *message, uint8_t type, uint16_t sequence)
{
    message[0] = PROTOCOL_VERSION;
    message[1] = type;
    return put_u16(message + 2, sequence);
}

uint8_t encode_info(uint8_t *message, uint16_t sequence, const info_content *info)
{
    uint8_t *at = encode_header(message, INFO, sequence);
    *at++ = info->major;
    *at++ = info->minor;
    *at++ = info->channels;
    *at++ = info->inputs;
    at = put_u16(at, info->watchdog);
    at = put_u16(at, info->rate_max);
    *at++ = info->unit;
    *at++ = 0;
    at = put_i32(at, info->least);
    at = put_i32(at, info->greatest);
    memcpy(at, info->name, NAME_BYTES);
    return (uint8_t)(at + NAME_BYTES - message);
}

uint8_t encode_ack(uint8_t *message, uint16_t sequence, uint8_t type, enum result result)
{
    uint8_t *at = encode_header(message, ACK, sequence);
    *at++ = type;
    *at++ = (uint8_t)result;
    return (uint8_t)(at - message);
}

uint8_t encode_feedback(uint8_t *message, uint16_t sequence, const feedback_content *feedback)
{
    uint8_t *at = encode_header(message, FEEDBACK, sequence);
    *at++ = feedback->state;
    *at++ = feedback->result;
    at = put_u16(at, feedback->taken);
    at = put_u32(at, feedback->time);
    at = put_u16(at, feedback->dropped);
    at = put_u16(at, feedback->refused);
    *at++ = feedback->channels;
    *at++ = feedback->inputs;
    for (uint8_t i = 0; i < feedback->channels; i++)
        at = put_i32(at, feedback->outputs[i]);
    for (uint8_t i = 0; i < feedback->inputs; i++)
        at = put_u16(at, feedback->analogue[i]);
    return (uint8_t)(at - message);
}
