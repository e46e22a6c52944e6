/* Messages of the serial protocol, version 1: docs/reference/bridge-protocol.md. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#define PROTOCOL_VERSION 1u
#define CHANNELS_MAX 16u
#define NAME_BYTES 16u

enum message_type {
    HELLO = 0x01,
    CONFIGURE = 0x02,
    ARM = 0x03,
    COMMAND = 0x04,
    STOP = 0x05,
    PING = 0x06,
    INFO = 0x81,
    ACK = 0x82,
    FEEDBACK = 0x84,
};

enum result {
    TAKEN = 0,
    NO_SUCH_CHANNEL = 1,
    BAD_LIMITS = 2,
    NOT_CONFIGURED = 3,
    NOT_ARMED = 4,
    STOPPED = 5,
    OUTSIDE_LIMITS = 6,
    NOT_NEWER = 7,
    IS_ARMED = 8,
};

enum state_bit {
    STATE_ARMED = 1,
    STATE_STOP = 2,
    STATE_WATCHDOG = 4,
    STATE_EMERGENCY = 8,
    STATE_FAULT = 16,
    STATE_MOVING = 32,
};
#define STATE_STOPPED (STATE_STOP | STATE_WATCHDOG | STATE_EMERGENCY | STATE_FAULT)

/* What FEEDBACK says of an output that is off. */
#define OUTPUT_OFF INT32_MIN

enum unit { UNIT_MICROSECONDS = 0, UNIT_STEPS = 1, UNIT_PASCAL = 2, UNIT_COUNTS = 3 };

typedef struct {
    uint8_t channel;
    int32_t low, high, rest;
    uint32_t rate; /* [unit/s]; 0: no limit */
} configure_content;

typedef struct {
    uint32_t time; /* [us] */
    uint16_t mask;
    int32_t values[CHANNELS_MAX]; /* by number of the channel; those not in the mask are 0 */
} command_content;

/* A message from the computer. */
typedef struct {
    uint8_t type;
    uint16_t sequence;
    union {
        configure_content configure;
        bool arm;
        command_content command;
    } content;
} request;

typedef struct {
    uint8_t major, minor, channels, inputs;
    uint16_t watchdog, rate_max; /* [ms], [Hz] */
    uint8_t unit;
    int32_t least, greatest;
    char name[NAME_BYTES];
} info_content;

typedef struct {
    uint8_t state, result;
    uint16_t taken; /* sequence of the last command that was taken */
    uint32_t time;  /* [us] */
    uint16_t dropped, refused;
    uint8_t channels, inputs;
    const int32_t *outputs;
    const uint16_t *analogue;
} feedback_content;

/* Whether `bytes` are a message from a computer; then `*found` is what it says. */
bool message_decode(const uint8_t *bytes, uint8_t length, request *found);

/* Each writes a whole message, of at most MESSAGE_MAX bytes, and returns its length.
 * `feedback` holds at most 16 channels and as many inputs as then fit: 18 + 4 n + 2 m <= 96. */
uint8_t encode_info(uint8_t *message, uint16_t sequence, const info_content *info);
uint8_t encode_ack(uint8_t *message, uint16_t sequence, uint8_t type, enum result result);
uint8_t encode_feedback(uint8_t *message, uint16_t sequence, const feedback_content *feedback);

#endif
