#include "crc32.h"

/* Remainders of the low and of the high four bits of a byte, reflected polynomial 0xEDB88320. */
static const uint32_t low[16] = {
    0x00000000u, 0x77073096u, 0xEE0E612Cu, 0x990951BAu, 0x076DC419u, 0x706AF48Fu,
    0xE963A535u, 0x9E6495A3u, 0x0EDB8832u, 0x79DCB8A4u, 0xE0D5E91Eu, 0x97D2D988u,
    0x09B64C2Bu, 0x7EB17CBDu, 0xE7B82D07u, 0x90BF1D91u,
};
static const uint32_t high[16] = {
    0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
    0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
    0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
};

uint32_t crc32(const uint8_t *bytes, uint8_t length)
{
    uint32_t crc = 0xFFFFFFFFu;
    while (length-- != 0) {
        uint8_t byte = (uint8_t)(crc & 0xFFu) ^ *bytes++;
        crc = crc >> 8 ^ low[byte & 15u] ^ high[byte >> 4];
    }
    return ~crc;
}
