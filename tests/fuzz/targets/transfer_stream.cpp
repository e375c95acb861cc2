// Files on their way out of a sandbox, in whatever pieces they come.

#include "sandbox/base/error.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tools/transfer.hpp"

#include <string>

namespace {

using berth::fuzz::require;

class Received {
  public:
    void feed(std::string_view bytes)
    {
        if (!damaged_) {
            guarded([&] { reader_.feed(bytes); });
        }
    }

    const std::string& finish()
    {
        if (!damaged_) {
            guarded([&] { reader_.finish(); });
        }
        log_ += damaged_ ? "damaged" : "whole";
        return log_;
    }

  private:
    template <class Step>
    void guarded(Step step)
    {
        try {
            step();
        } catch (const berth::Error& error) {
            require(error.code() == berth::ErrorCode::backend_error, "the stream is damaged");
            damaged_ = true;
        }
    }

    std::string log_;
    bool damaged_ = false;
    berth::tools::TransferReader reader_{
        [this](const berth::protocol::TransferHeader& header) {
            require(!header.name.starts_with('/') &&
                        ("/" + header.name + "/").find("/../") == std::string::npos,
                    "a name stays below its directory");
            log_ += encode(header);
        },
        [this](std::string_view bytes) { log_ += bytes; }, [this] { log_ += "end"; }};
};

} // namespace

BERTH_FUZZ_TARGET(transfer_stream)
{
    Received whole;
    whole.feed(input);
    Received pieces;
    berth::fuzz::each_piece(input, [&](std::string_view piece) { pieces.feed(piece); });
    require(whole.finish() == pieces.finish(), "pieces make no difference");
}
