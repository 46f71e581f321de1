# cmake -DFOLDER=docs/errors -DGLOB=E*.md -DOUT=ErrorPages.inc -P EmbedPages.cmake
#
# Writes one row {"E0101", R"page(...)page"}, per file, so that the compiler carries its pages with it.
file(GLOB pages ${FOLDER}/${GLOB})
list(SORT pages)
set(rows "")
foreach(page ${pages})
  get_filename_component(name ${page} NAME_WE)
  file(READ ${page} text)
  string(APPEND rows "{\"${name}\", R\"page(${text})page\"},\n")
endforeach()
# Only a change of content may cause a rebuild.
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL rows)
  file(WRITE ${OUT} "${rows}")
endif()
