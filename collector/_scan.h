/* One pass over a protobuf message: is it surely one that the official parser takes and OTLP's rules let in?
 *
 * Plain C, no allocation, no recursion. What a message may hold is told by a table (scan.py makes it from the official
 * descriptors): one row of ROW bytes a message type, of which the first FIELDS say what each field number holds. The
 * answer is "sure", with counts, or "unsure", which says nothing: another judge decides then. So every doubt is
 * "unsure": groups, a field of another wire type than it should have, field numbers beyond the table, deep nesting, a
 * field of which there may be one and there are two.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    FIELDS = 64, /* field numbers below this one are known or may be skipped */
    ITEM = 64,   /* at these places of a row: whether it is a span or log record, */
    REQUIRED,    /* and which of the ids below must be there (bits) */
    ROW = 72,
    DEPTH = 64 /* the official parser takes 100 */
};

enum { /* what a field holds; from MESSAGE on, the message type at that row */
    SKIPPED,
    VARINT,
    FIXED64,
    FIXED32,
    STRING,
    BYTES,
    DOUBTFUL,
    TRACE_ID, /* 16 bytes, not all zero, once */
    SPAN_ID,  /* 8 bytes, not all zero, once */
    EMPTY_OR_8,
    EMPTY_OR_16,
    MESSAGE = 32,
    ONCE = 128 /* added to the kind of fields of which a message may hold one in all */
};

enum { FILLED = 4 }; /* what is seen of a message: the bits of its ids, and this one for its field of ONCE */

struct counts {
    size_t items;    /* spans or log records */
    size_t messages; /* all that are inside the first one */
};

static int ascii8(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return (word & 0x8080808080808080u) == 0;
}

/* UTF-8 as RFC 3629 has it: shortest forms, no surrogates, nothing beyond U+10FFFF. */
static int is_utf8(const uint8_t *at, const uint8_t *end) {
    for (;;) {
        while (end - at >= 32) {
            uint64_t words[4];
            memcpy(words, at, 32);
            if ((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u)
                break;
            at += 32;
        }
        while (end - at >= 8 && ascii8(at))
            at += 8;
        while (at < end && *at < 0x80)
            at++;
        if (at == end)
            return 1;
        do {
            uint8_t lead = *at;
            ptrdiff_t left = end - at;
            if (lead < 0xc2)
                return 0;
            if (lead < 0xe0) {
                if (left < 2 || (at[1] & 0xc0) != 0x80)
                    return 0;
                at += 2;
            } else if (lead < 0xf0) {
                if (left < 3 || (at[1] & 0xc0) != 0x80 || (at[2] & 0xc0) != 0x80)
                    return 0;
                if ((lead == 0xe0 && at[1] < 0xa0) || (lead == 0xed && at[1] >= 0xa0))
                    return 0;
                at += 3;
            } else {
                if (lead > 0xf4 || left < 4)
                    return 0;
                if ((at[1] & 0xc0) != 0x80 || (at[2] & 0xc0) != 0x80 || (at[3] & 0xc0) != 0x80)
                    return 0;
                if ((lead == 0xf0 && at[1] < 0x90) || (lead == 0xf4 && at[1] >= 0x90))
                    return 0;
                at += 4;
            }
        } while (at < end && *at >= 0x80);
    }
}

static int all_zero(const uint8_t *at, size_t length) {
    uint8_t seen = 0;
    while (length--)
        seen |= *at++;
    return seen == 0;
}

/* The varint at *place, which moves behind it; 0 if it is cut short or longer than 64 bits. */
static int varint(const uint8_t **place, const uint8_t *end, uint64_t *value) {
    const uint8_t *at = *place;
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            return 0;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *place = at;
            *value = result;
            return 1;
        }
    }
    return 0;
}

struct level {
    const uint8_t *end;
    const uint8_t *row;
    unsigned seen;
};

/* What is at `at`, `length` bytes long, in a field of this kind; a message type is none of its business. */
static int is_sound(unsigned kind, const uint8_t *at, size_t length, unsigned *seen) {
    switch (kind) {
    case SKIPPED:
    case BYTES:
        return 1;
    case STRING:
        return is_utf8(at, at + length);
    case TRACE_ID:
    case SPAN_ID: {
        unsigned bit = kind == TRACE_ID ? 1 : 2;
        if (length != (kind == TRACE_ID ? 16u : 8u) || *seen & bit || all_zero(at, length))
            return 0;
        *seen |= bit;
        return 1;
    }
    case EMPTY_OR_8:
        return length == 0 || length == 8;
    case EMPTY_OR_16:
        return length == 0 || length == 16;
    default:
        return 0;
    }
}

/* 1: sure. 0: unsure. The table holds `rows` rows, and the message is of the type of the first. */
static int scan(const uint8_t *table, size_t rows, const uint8_t *at, size_t length, struct counts *counts) {
    struct level levels[DEPTH], *now = levels;
    counts->items = counts->messages = 0;
    if (rows == 0)
        return 0;
    now->end = at + length;
    now->row = table;
    now->seen = 0;
    for (;;) {
        while (at == now->end) {
            if ((now->seen & now->row[REQUIRED]) != now->row[REQUIRED])
                return 0;
            if (now == levels)
                return 1;
            now--;
        }
        unsigned tag = *at++;
        if (tag >= 0x80) {
            if (at == now->end || *at >= 0x80)
                return 0;
            tag = (tag & 0x7f) | (unsigned)*at++ << 7;
        }
        unsigned field = tag >> 3, kind;
        if (field == 0 || field >= FIELDS)
            return 0;
        kind = now->row[field];
        if (kind & ONCE) {
            if (now->seen & FILLED)
                return 0;
            now->seen |= FILLED;
            kind &= ~(unsigned)ONCE;
        }
        size_t left = (size_t)(now->end - at);
        uint64_t value;
        switch (tag & 7) {
        case 0:
            if ((kind != SKIPPED && kind != VARINT) || !varint(&at, now->end, &value))
                return 0;
            break;
        case 1:
            if ((kind != SKIPPED && kind != FIXED64) || left < 8)
                return 0;
            at += 8;
            break;
        case 5:
            if ((kind != SKIPPED && kind != FIXED32) || left < 4)
                return 0;
            at += 4;
            break;
        case 2:
            if (left && *at < 0x80)
                value = *at++;
            else if (!varint(&at, now->end, &value))
                return 0;
            if (value > (uint64_t)(now->end - at))
                return 0;
            if (kind >= MESSAGE) {
                size_t inner = kind - MESSAGE;
                if (inner >= rows || now == levels + DEPTH - 1)
                    return 0;
                now++;
                now->end = at + value;
                now->row = table + inner * ROW;
                now->seen = 0;
                counts->messages++;
                counts->items += now->row[ITEM];
            } else {
                if (!is_sound(kind, at, (size_t)value, &now->seen))
                    return 0;
                at += value;
            }
            break;
        default:
            return 0;
        }
    }
}
