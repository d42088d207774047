// Runs a list of benchmarks on the LevelDB that is installed, as `ssdlab kv bench` runs them on ours.
//
// Usage: leveldb_bench DIR MODE VALUE_SIZE N BLOOM_BITS NAME[,NAME...]
// MODE: `threads` (as LevelDB comes) or `inline` (background work runs after the write that asked for
// it, in the same thread: deterministic, and what `Background::Eager` does).
// Prints a line per benchmark: NAME SECONDS CPU_SECONDS FOUND, and at the end `tables BYTES`: bytes
// of tables written since the start. Without arguments, it prints the version of LevelDB and the file that
// holds its code.

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <memory>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace {

// xorshift64*: the same numbers as in crates/ssd-kv/src/bench.rs.
struct Random {
    uint64_t state;
    uint64_t next() {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return state * 2685821657736338717ull;
    }
    uint64_t below(uint64_t n) { return (next() >> 11) % n; }
};

// Counts table bytes, and can keep background work for `run`.
class Env : public leveldb::EnvWrapper {
  public:
    Env(bool inline_work) : EnvWrapper(leveldb::Env::Default()), inline_(inline_work) {}
    void Schedule(void (*f)(void*), void* arg) override {
        if (inline_) {
            work_.emplace_back(f, arg);
        } else {
            target()->Schedule(f, arg);
        }
    }
    void run() {
        while (!work_.empty()) {
            auto [f, arg] = work_.front();
            work_.pop_front();
            f(arg);
        }
    }
    leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** out) override;
    uint64_t table_bytes = 0;

  private:
    bool inline_;
    std::deque<std::pair<void (*)(void*), void*>> work_;
};

class CountedFile : public leveldb::WritableFile {
  public:
    CountedFile(leveldb::WritableFile* file, uint64_t* count) : file_(file), count_(count) {}
    leveldb::Status Append(const leveldb::Slice& data) override {
        *count_ += data.size();
        return file_->Append(data);
    }
    leveldb::Status Close() override { return file_->Close(); }
    leveldb::Status Flush() override { return file_->Flush(); }
    leveldb::Status Sync() override { return file_->Sync(); }

  private:
    std::unique_ptr<leveldb::WritableFile> file_;
    uint64_t* count_;
};

leveldb::Status Env::NewWritableFile(const std::string& name, leveldb::WritableFile** out) {
    leveldb::Status status = target()->NewWritableFile(name, out);
    if (status.ok() && name.size() > 4 && name.compare(name.size() - 4, 4, ".ldb") == 0) {
        *out = new CountedFile(*out, &table_bytes);
    }
    return status;
}

double cpu_seconds() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](timeval t) { return t.tv_sec + t.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void check(const leveldb::Status& status) {
    if (!status.ok()) {
        std::fprintf(stderr, "leveldb_bench: %s\n", status.ToString().c_str());
        std::exit(1);
    }
}

struct Bench {
    leveldb::DB* db;
    Env* env;
    uint64_t n;
    std::string values;
    size_t value_size;

    uint64_t run(const std::string& name, uint64_t seed);
    uint64_t reads(const std::string& name, Random random);
};

uint64_t Bench::reads(const std::string& name, Random random) {
    leveldb::ReadOptions options;
    std::string value;
    char key[32];
    uint64_t found = 0;
    if (name == "readseq" || name == "seekrandom") {
        std::unique_ptr<leveldb::Iterator> iter(db->NewIterator(options));
        if (name == "readseq") {
            for (iter->SeekToFirst(); iter->Valid(); iter->Next()) {
                found += iter->value().size() > 0;
            }
            return found;
        }
        for (uint64_t i = 0; i < n; i++) {
            std::snprintf(key, sizeof key, "%016llu", (unsigned long long)random.below(n));
            iter->Seek(key);
            found += iter->Valid() && iter->key() == leveldb::Slice(key);
        }
        return found;
    }
    for (uint64_t i = 0; i < n; i++) {
        const char* suffix = name == "readmissing" ? "." : "";
        std::snprintf(key, sizeof key, "%016llu%s", (unsigned long long)random.below(n), suffix);
        found += db->Get(options, key, &value).ok();
        env->run();
    }
    return found;
}

uint64_t Bench::run(const std::string& name, uint64_t seed) {
    Random random{seed * 0x9e3779b97f4a7c15ull + 1};
    if (name.compare(0, 4, "read") == 0 || name == "seekrandom") return reads(name, random);
    leveldb::WriteOptions options;
    char key[32];
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k = name == "fillseq" ? i : random.below(n);
        std::snprintf(key, sizeof key, "%016llu", (unsigned long long)k);
        if (name == "deleterandom") {
            check(db->Delete(options, key));
        } else {
            size_t at = random.below(values.size() - value_size);
            check(db->Put(options, key, leveldb::Slice(values.data() + at, value_size)));
        }
        env->run();
    }
    return n;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 1) {
        Dl_info info;
        int known = dladdr(reinterpret_cast<void*>(&leveldb::DB::Open), &info);
        std::printf("%d.%d %s\n", leveldb::kMajorVersion, leveldb::kMinorVersion, known ? info.dli_fname : "");
        return 0;
    }
    if (argc != 7) {
        std::fprintf(stderr, "usage: leveldb_bench DIR threads|inline VALUE_SIZE N BLOOM_BITS NAMES\n");
        return 2;
    }
    std::string folder = argv[1];
    Env env(std::strcmp(argv[2], "inline") == 0);
    leveldb::Options options;
    options.create_if_missing = true;
    options.compression = leveldb::kNoCompression;
    options.env = &env;
    int bits = std::atoi(argv[5]);
    if (bits > 0) options.filter_policy = leveldb::NewBloomFilterPolicy(bits);
    leveldb::DB* db = nullptr;
    check(leveldb::DB::Open(options, folder, &db));
    env.run();
    Bench bench{db, &env, std::strtoull(argv[4], nullptr, 10), std::string(1 << 20, 0), std::strtoull(argv[3], nullptr, 10)};
    Random random{301};
    for (char& byte : bench.values) byte = (char)(random.next() >> 56);
    std::istringstream names(argv[6]);
    std::string name;
    for (uint64_t seed = 1; std::getline(names, name, ','); seed++) {
        double cpu = cpu_seconds();
        auto start = std::chrono::steady_clock::now();
        uint64_t found = bench.run(name, seed);
        std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
        std::printf("%s %.6f %.6f %llu\n", name.c_str(), wall.count(), cpu_seconds() - cpu, (unsigned long long)found);
        std::fflush(stdout);
    }
    delete db;
    std::printf("tables %llu\n", (unsigned long long)env.table_bytes);
    return 0;
}
