#pragma once

/// Marks what the shared library exports. Define RDMAGPU_DLL to link the library as a Windows DLL.
#if defined(_WIN32)
#if defined(RDMAGPU_BUILDING_DLL)
#define RDMAGPU_API __declspec(dllexport)
#elif defined(RDMAGPU_DLL)
#define RDMAGPU_API __declspec(dllimport)
#else
#define RDMAGPU_API
#endif
#else
#define RDMAGPU_API __attribute__((visibility("default")))
#endif
