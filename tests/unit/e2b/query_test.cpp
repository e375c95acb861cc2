#include "sandbox/base/percent.hpp"
#include "sandbox/e2b/query.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using berth::percent_decoded;
using berth::e2b::Metadata;
using berth::e2b::metadata_query;

namespace {

std::string decoded(std::string_view text)
{
    return percent_decoded(text).value();
}

/// As the server of E2B reads it: the query, then the form, then each part.
Metadata as_the_server_reads(const std::string& query)
{
    Metadata read;
    std::string rest = decoded(query);
    // The form would turn + into a blank; there must be none.
    CHECK(rest.find('+') == std::string::npos);
    while (!rest.empty()) {
        const auto pair = rest.substr(0, rest.find('&'));
        const auto equals = pair.find('=');
        read[decoded(decoded(pair.substr(0, equals)))] = decoded(decoded(pair.substr(equals + 1)));
        rest.erase(0, pair.size() + 1);
    }
    return read;
}

} // namespace

TEST_CASE("metadata is encoded as the official client does it, three times")
{
    CHECK(metadata_query({{"a", "b c"}}) == "a%3Db%252520c"); // from its own bytes
    CHECK(metadata_query({}).empty());
}

TEST_CASE("metadata of any bytes comes through the server's three decodings")
{
    const Metadata metadata = {{"owner", "a&b=c%d+e f"},
                               {"k=&%+", "\xc3\xa4\"'()*!~"},
                               {"plain", "x-1.2_3"},
                               {"empty", ""}};
    CHECK(as_the_server_reads(metadata_query(metadata)) == metadata);
}
