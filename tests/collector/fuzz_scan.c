/* The scan under sanitizers:  fuzz_scan MUTATIONS SEED TABLE BODY...
 *
 * Each mutant lies in a block of exactly its own size, so that a read beyond it is seen. Prints how many were sure. */
#include <stdio.h>
#include <stdlib.h>

#include "../../collector/_scan.h"

static uint64_t state;

static uint64_t draw(uint64_t below) { /* xorshift */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

struct bytes {
    uint8_t *at;
    size_t size;
};

static struct bytes read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct bytes read;
    if (file == NULL || fseek(file, 0, SEEK_END))
        exit(2);
    read.size = (size_t)ftell(file);
    read.at = malloc(read.size + 1);
    rewind(file);
    if (fread(read.at, 1, read.size, file) != read.size)
        exit(2);
    fclose(file);
    return read;
}

int main(int count, char **words) {
    if (count < 5)
        return 2;
    unsigned long long mutations = strtoull(words[1], NULL, 10), sure = 0;
    state = strtoull(words[2], NULL, 10) | 1;
    static struct bytes table, bodies[64]; /* static: not lost at the end */
    table = read_file(words[3]);
    int kinds = count - 4 < 64 ? count - 4 : 64;
    for (int i = 0; i < kinds; i++)
        bodies[i] = read_file(words[4 + i]);
    for (unsigned long long done = 0; done < mutations; done++) {
        struct bytes from = bodies[draw((uint64_t)kinds)], other = bodies[draw((uint64_t)kinds)];
        size_t cut = draw(8) ? from.size : draw(from.size + 1), more = draw(4) ? 0 : draw(40) % (other.size + 1);
        size_t size = cut + more, place = draw(cut + 1);
        uint8_t *mutant = malloc(size ? size : 1);
        memcpy(mutant, from.at, place);
        memcpy(mutant + place, other.at + draw(other.size - more + 1), more);
        memcpy(mutant + place + more, from.at + place, cut - place);
        for (uint64_t changes = draw(5); changes && size; changes--) {
            size_t at = draw(size);
            switch (draw(3)) {
            case 0:
                mutant[at] = (uint8_t)draw(256);
                break;
            case 1:
                mutant[at] ^= (uint8_t)(1u << draw(8));
                break;
            default:
                for (size_t run = draw(11); run && at < size; run--)
                    mutant[at++] = 0xff;
            }
        }
        uint8_t *exact = size ? realloc(mutant, size) : mutant;
        struct counts counts;
        sure += (unsigned long long)scan(table.at, table.size / ROW, exact, size, &counts);
        free(exact);
    }
    printf("%llu\n", sure);
    return 0;
}
