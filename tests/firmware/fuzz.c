/* Fuzzes the firmware's core on the host, with a board that records what it is made to do.
 *
 *     fuzz BYTES SEED
 *
 * Three kinds of bytes: noise; well-formed frames of any content, some flipped or cut; a host that
 * works as it should. Whatever comes, an output never leaves the limits of its channel, never
 * moves while the device is not armed, nor faster than its rate; a frame with a flipped bit is
 * never answered. Prints "BYTES FRAMES COMMANDS
 * MOVES", of which the last three say that the test reached what it tests; a violation aborts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "core.h"

static core device;
static int32_t outputs[BOARD_CHANNELS];
static uint32_t time_us;
static bool emergency;
static unsigned long answers, taken, moves;
static uint64_t random_state;

static void demand(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "violated: %s\n", what);
        abort();
    }
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016. */
static uint32_t any(uint32_t below)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * 0x2545F4914F6CDD1Dull) >> 32) % below;
}

uint32_t board_time(void) { return time_us; }
bool board_emergency(void) { return emergency; }
uint16_t board_input(uint8_t index) { return (uint16_t)any(65536u >> index); }
int32_t board_halt(uint8_t i) { return outputs[i]; }
int32_t board_output(uint8_t i) { return outputs[i]; }

static void check_output(uint8_t i, int32_t value)
{
    demand(device.state & STATE_ARMED, "an output moves only while armed");
    demand(!(device.state & STATE_STOPPED) && !emergency, "an output does not move once stopped");
    demand(device.channels[i].configured, "only configured channels move");
    demand(value >= BOARD_LEAST && value <= BOARD_GREATEST, "the board's own range");
}

void board_switch_on(uint8_t i, int32_t value)
{
    check_output(i, value);
    demand(value >= device.channels[i].low && value <= device.channels[i].high, "limits");
    outputs[i] = value;
    moves++;
}

void board_move(uint8_t i, position value)
{
    int32_t whole = (int32_t)(value / POSITION_ONE);
    check_output(i, whole);
    const channel *c = &device.channels[i];
    int32_t target = (int32_t)(c->target / POSITION_ONE);
    demand(target >= c->low && target <= c->high, "targets lie within the limits");
    demand(whole == outputs[i] || (whole > outputs[i]) == (target > outputs[i]), "towards the target");
    position way = value - (position)outputs[i] * POSITION_ONE;
    demand(c->step_max == INT64_MAX || llabs(way) <= c->step_max + POSITION_ONE, "the rate");
    outputs[i] = whole;
    moves++;
}

void board_send(const uint8_t *bytes, uint8_t length)
{
    static frame_parser parser; /* what is sent must be frames, too */
    for (uint8_t i = 0; i < length; i++)
        if (frame_receive(&parser, bytes[i]) > 0)
            answers++;
    demand(parser.dropped == 0, "answers are well-formed");
}

static void receive(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        uint16_t before = device.taken;
        bool first = device.any_sequence;
        core_receive(&device, bytes[i]);
        if (device.taken == before)
            continue;
        uint16_t ahead = (uint16_t)(device.taken - before);
        demand(first || (ahead > 0 && ahead < 32768), "sequences go forwards");
        demand(device.state & STATE_ARMED, "commands are taken only while armed");
        taken++;
    }
}

static uint8_t *put_values(uint8_t *at, uint16_t mask, bool sane)
{
    at = put_u16(put_u32(at, time_us), mask);
    for (uint8_t i = 0; i < CHANNELS_MAX; i++)
        if (mask >> i & 1u)
            at = put_i32(at, sane ? (int32_t)(600 + any(1700)) : (int32_t)(any(4000u) - 800u));
    return at;
}

/* A message that is nearly one of the protocol. */
static uint8_t make_message(uint8_t *message, uint16_t sequence, bool sane)
{
    static const int32_t lows[] = {500, 600, 0, INT32_MIN, 2400, 900};
    static const int32_t highs[] = {2400, 2300, 500, INT32_MAX, 2401, 800};
    message[0] = sane || any(20) > 0 ? 1 : (uint8_t)any(256);
    message[1] = sane ? COMMAND : (uint8_t)(any(10) > 0 ? 1 + any(6) : any(256));
    uint8_t *at = put_u16(message + 2, sequence);
    uint32_t which = any(6);
    switch (message[1]) {
    case CONFIGURE:
        *at++ = (uint8_t)any(BOARD_CHANNELS + 1u);
        at = put_i32(put_i32(at, lows[which]), highs[any(12) > 0 ? which : any(6)]);
        at = put_u32(put_i32(at, 700 + (int32_t)any(200)), any(2) ? any(100000) : any(0xFFFFFFFFu));
        break;
    case ARM:
        *at++ = (uint8_t)(any(10) > 0);
        break;
    case COMMAND:
        at = put_values(at, sane ? 0xFF : (uint16_t)any(0x200), sane);
        break;
    default:
        break;
    }
    if (!sane && any(10) == 0)
        at += any(4); /* bytes too many */
    return (uint8_t)(at - message);
}

/* A host that configures, arms, and sends commands for a while. */
static size_t work(void)
{
    uint8_t wire[FRAME_MAX], message[MESSAGE_MAX] = {1, ARM, 0, 0, 0};
    size_t sent = 0;
    uint8_t length = frame_encode(message, 5, wire);
    receive(wire, length);
    for (uint8_t i = 0; i < BOARD_CHANNELS; i++, sent += length) {
        message[1] = CONFIGURE;
        message[4] = i;
        put_u32(put_i32(put_i32(put_i32(message + 5, 600), 2300), 1500), i * 1000u);
        length = frame_encode(message, 21, wire);
        receive(wire, length);
    }
    message[1] = ARM;
    message[4] = 1;
    length = frame_encode(message, 5, wire);
    receive(wire, length);
    uint16_t sequence = (uint16_t)any(65536);
    for (uint32_t k = any(100); k > 0; k--, sent += length) {
        sequence = (uint16_t)(sequence + 1 + any(3));
        length = frame_encode(message, make_message(message, sequence, true), wire);
        receive(wire, length);
        for (uint32_t ticks = any(6); ticks > 0; ticks--, time_us += BOARD_TICK)
            core_tick(&device);
    }
    return sent;
}

int main(int count, char **arguments)
{
    size_t total = count > 1 ? strtoul(arguments[1], NULL, 10) : 100000, done = 0;
    random_state = (count > 2 ? strtoul(arguments[2], NULL, 10) : 1) * 2654435761u + 1u;
    core_begin(&device, false);
    while (done < total) {
        uint8_t bytes[FRAME_MAX + 200], message[MESSAGE_MAX] = {0};
        size_t length = 0;
        uint32_t kind = any(100);
        unsigned long before = answers;
        if (kind == 0) {
            done += work();
        } else if (kind < 20) {
            length = any(300);
            for (size_t i = 0; i < length; i++)
                bytes[i] = (uint8_t)any(256);
        } else {
            length = frame_encode(message, make_message(message, (uint16_t)any(65536), false), bytes);
            if (kind < 40)
                bytes[any((uint32_t)length)] ^= (uint8_t)(1u << any(8));
            else if (kind < 45)
                length = any((uint32_t)length);
        }
        receive(bytes, length);
        demand(kind < 20 || kind >= 40 || answers == before, "damaged frames are dropped");
        done += length;
        emergency = any(200) == 0 ? !emergency && any(2) : emergency;
        for (uint32_t ticks = any(50) == 0 ? 50 : any(2); ticks > 0; ticks--, time_us += BOARD_TICK)
            core_tick(&device);
    }
    printf("%zu %lu %lu %lu\n", done, answers, taken, moves);
    return 0;
}
