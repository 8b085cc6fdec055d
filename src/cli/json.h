// The results of replays for programs: a list of objects.
#ifndef STREAMPOOL_CLI_JSON_H
#define STREAMPOOL_CLI_JSON_H

#include "cli/player.h"

// Writes the results to a file, or to standard output for the path "-". A file is written beside its place
// and then renamed, so there is never half of one; what is no regular file (a pipe, a device) is written to
// directly. Says on standard error why it could not.
bool sp_json_write(const char *path, const struct sp_result *results, size_t count);

#endif
