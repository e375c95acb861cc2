#include "sandbox/protocol/wire.hpp"
#include "tests/unit/tools/caught.hpp"
#include "tools/transfer.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace protocol = berth::protocol;
using berth::ErrorCode;
using berth::tools::transfer_header;
using berth::tools::TransferReader;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

struct Collector {
    Files files;
    int ended = 0;
    TransferReader reader{
        [this](const protocol::TransferHeader& header) { files.emplace_back(header.name, ""); },
        [this](std::string_view bytes) { files.back().second += bytes; }, [this] { ++ended; }};
};

std::string encoded(const Files& files)
{
    std::string bytes;
    for (const auto& [name, content] : files) {
        bytes += transfer_header({name, content.size(), 0644, false}) + content;
    }
    return bytes;
}

ErrorCode refusal(const std::string& bytes)
{
    return berth::tools::test::caught([&] {
               Collector collector;
               collector.reader.feed(bytes);
               collector.reader.finish();
           })
        .code();
}

} // namespace

TEST_CASE("files are cut from a transfer at any division into pieces")
{
    const Files files = {
        {"a", "one"}, {"empty", ""}, {"d/e/f", std::string(5000, '\n')}, {"z", ""}};
    const std::string bytes = encoded(files);
    for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{7}, bytes.size()}) {
        Collector collector;
        for (std::size_t at = 0; at < bytes.size(); at += step) {
            collector.reader.feed(std::string_view(bytes).substr(at, step));
        }
        collector.reader.finish();
        CHECK(collector.files == files);
        CHECK(collector.ended == 4);
    }
}

TEST_CASE("nothing is a transfer of no files")
{
    Collector collector;
    collector.reader.feed("");
    CHECK_NOTHROW(collector.reader.finish());
}

TEST_CASE("names that leave their directory are refused, whatever the guest says")
{
    for (const auto* name :
         {"", "/", "/etc/passwd", "..", "../x", "a/../../x", "a//b", "a/", ".", "./a"}) {
        INFO(name);
        CHECK(refusal(encoded({{name, ""}})) == ErrorCode::backend_error);
    }
    CHECK(refusal(encoded({{std::string("a\0b", 3), ""}})) == ErrorCode::backend_error);
}

TEST_CASE("a transfer that is cut off or damaged is refused")
{
    const std::string bytes = encoded({{"a", "content"}});
    for (std::size_t size = 1; size < bytes.size(); ++size) {
        CHECK(refusal(bytes.substr(0, size)) == ErrorCode::backend_error);
    }
    CHECK(refusal("\xff\xff\xff\xff") == ErrorCode::backend_error);
    CHECK(refusal("\x02\x0a\xff") == ErrorCode::backend_error);
    std::string long_header;
    protocol::put_varint(long_header, protocol::max_transfer_header + 1);
    CHECK(refusal(long_header) == ErrorCode::backend_error);
}

TEST_CASE("a load that is too much names what is too much")
{
    using berth::tools::require_loadable;
    const auto told = [](std::uint64_t files, std::uint64_t bytes) -> std::string {
        return berth::tools::test::caught([&] { require_loadable(files, bytes); }).what();
    };
    CHECK_NOTHROW(require_loadable(10'000, 4ULL << 30U));
    CHECK(told(1, 5'000'000'000) == "5.0 GB are more than one call loads (4.3 GB)");
    CHECK(told(10'001, 1) == "10,001 files are more than one call loads (10,000)");
}
