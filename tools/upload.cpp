#include "tools/upload.hpp"

#include "tools/transfer.hpp"

#include <algorithm>
#include <utility>

namespace berth::tools {

Upload::Upload(workspace::Store& store, std::string principal, bool overwrite,
               const Progress& progress)
    : store_(store), principal_(std::move(principal)), overwrite_(overwrite), progress_(progress)
{
}

void Upload::begin(const protocol::TransferHeader& header, const Target& target)
{
    const auto path = target(header);
    left_out_ = !path;
    if (path) {
        names_.push_back(header.name);
        writers_.push_back(store_.create(principal_, *path, header.mode, overwrite_));
        progress_.begin(header.name);
    }
}

protocol::ExportReply Upload::take(sandbox::Sandbox& sandbox, protocol::ExportRequest request,
                                   const Target& target, const std::stop_token& stop)
{
    request.max_bytes = max_transfer_bytes - std::min(bytes_, max_transfer_bytes);
    request.max_entries =
        max_transfer_files - std::min<std::uint64_t>(names_.size(), max_transfer_files);
    TransferReader reader([&](const protocol::TransferHeader& header) { begin(header, target); },
                          [&](std::string_view bytes) {
                              if (!left_out_) {
                                  writers_.back()->write(bytes);
                                  bytes_ += bytes.size();
                                  progress_.add(bytes.size());
                              }
                          },
                          [&] {
                              if (!left_out_) {
                                  writers_.back()->seal();
                              }
                          });
    auto reply =
        sandbox.export_files(request, [&](std::string_view bytes) { reader.feed(bytes); }, stop);
    reader.finish();
    return reply;
}

std::vector<workspace::Entry> Upload::commit(const std::stop_token& stop)
{
    return store_.commit(writers_, stop);
}

} // namespace berth::tools
