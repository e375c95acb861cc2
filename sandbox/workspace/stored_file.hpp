#pragma once

#include "sandbox/base/sha256.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/workspace/store.hpp"
#include "sandbox/workspace/writer_area.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace berth::workspace {

/// A file on its way into the store: written to the temporary files, renamed into the tree by
/// publish().
class StoredWriter : public Writer {
  public:
    /// `path` is normalised. Throws as Store::create().
    StoredWriter(std::shared_ptr<const WriterArea> area, std::string path, std::uint32_t mode,
                 bool overwrite);
    ~StoredWriter() override;

    void write(std::string_view bytes) override;
    void seal() override;
    [[nodiscard]] Entry commit() override;

    [[nodiscard]] const Area& area() const noexcept { return area_->area(); }

    [[nodiscard]] const Entry& entry() const noexcept { return entry_; }

    [[nodiscard]] const std::string& temporary_name() const noexcept { return temporary_name_; }

    [[nodiscard]] bool overwrites() const noexcept { return overwrite_; }

    /// Its temporary file has become the stored one.
    void placed() noexcept { temporary_name_.clear(); }

  private:
    void append(std::string_view bytes);

    std::shared_ptr<const WriterArea> area_;
    bool overwrite_;
    Entry entry_;
    std::string temporary_name_;
    UniqueFd fd_; ///< until it is sealed
    Sha256 hash_;
};

class StoredReader : public Reader {
  public:
    StoredReader(UniqueFd fd, Entry entry);

    [[nodiscard]] const Entry& entry() const noexcept override { return entry_; }

    [[nodiscard]] std::string read(std::size_t most) override;

  private:
    void verify();

    UniqueFd fd_;
    Entry entry_;
    std::uint64_t remaining_;
    Sha256 hash_;
    bool verified_ = false;
};

/// What the open file says of itself. `sha256` is empty when its footer is missing or damaged.
[[nodiscard]] Entry read_entry(int fd, std::string path);

} // namespace berth::workspace
